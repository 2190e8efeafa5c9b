// Names of locks that CLI11 would misread.

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.hpp"

namespace rlock::cli {
namespace {

constexpr char k_mark = '\x01';

bool is_misread(const std::string& word) {
  return word == "++" || word.front() == k_mark || (word.front() == '[' && word.back() == ']');
}

// Returns whether the value of the options in `word` is the next word.
bool takes_next_word(const std::string& word, const CLI::App& app, const CLI::App& command) {
  const auto takes_value = [&](const std::string& name) {
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option == nullptr) option = app.get_option_no_throw(name);
    return option != nullptr && option->get_items_expected_max() > 0;
  };
  if (word.starts_with("--")) return takes_value(word);
  for (std::size_t i = 1; i < word.size(); ++i) {
    // The rest of the word, if there is one, is the value: -w5s.
    if (takes_value(std::string("-") + word[i])) return i + 1 == word.size();
  }
  return false;
}

}  // namespace

void protect_positionals(std::vector<std::string>& words, const CLI::App& app,
                         const CLI::App& command) {
  auto word = std::ranges::find(words, command.get_name());
  if (word == words.end()) return;
  bool only_names = false;
  for (++word; word != words.end(); ++word) {
    if (word->empty()) continue;
    if (!only_names && *word == "--") {
      only_names = true;
    } else if (!only_names && word->front() == '-' && word->size() > 1) {
      if (takes_next_word(*word, app, command) && word + 1 != words.end()) ++word;
    } else if (is_misread(*word)) {
      word->insert(0, 1, k_mark);
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
