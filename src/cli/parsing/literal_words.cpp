#include "cli/parsing/literal_words.hpp"

#include <CLI/CLI.hpp>

namespace rlock::cli {
namespace {

constexpr char k_mark = '\x01';

bool is_misread(const std::string& word) {
  return word == "++" || word.front() == k_mark || (word.front() == '[' && word.back() == ']');
}

bool takes_value(const std::string& name, const CLI::App& app, const CLI::App& command) {
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) option = app.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_max() > 0;
}

bool has_options(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

}  // namespace

bool takes_next_word(const std::string& word, const CLI::App& app, const CLI::App& command) {
  if (!has_options(word)) return false;
  if (word.starts_with("--")) return takes_value(word, app, command);
  for (std::size_t i = 1; i < word.size(); ++i) {
    // The rest of the word, if there is one, is the value: -w5s.
    if (takes_value(std::string("-") + word[i], app, command)) return i + 1 == word.size();
  }
  return false;
}

void protect_words(std::vector<std::string>& words, const CLI::App& app, const CLI::App& command) {
  bool only_names = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty()) continue;
    std::string& word = words[i];
    if (!only_names && word == "--") {
      only_names = true;
    } else if (!only_names && word.starts_with("--") && word.ends_with('=') &&
               takes_value(word.substr(0, word.size() - 1), app, command)) {
      word.pop_back();
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(++i), "");
    } else if (!only_names && has_options(word)) {
      if (takes_next_word(word, app, command)) ++i;
    } else if (is_misread(word)) {
      word.insert(0, 1, k_mark);
    }
  }
}

void unprotect(CLI::Option& option) {
  option.transform(CLI::Validator(
      [](std::string& word) {
        if (!word.empty() && word.front() == k_mark) word.erase(0, 1);
        return std::string();
      },
      ""));
}

}  // namespace rlock::cli
