#include "cli/parsing/option_set.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/parsing/literal_words.hpp"

namespace rlock::cli {
namespace {

constexpr std::size_t k_columns = 80;
constexpr std::size_t k_text_column = 34;

// Returns the text in lines of at most `width` columns, if its words are not longer. After a line
// break come `indent` spaces.
std::string fold(const std::string& text, std::size_t width, std::size_t indent = 0) {
  std::string folded;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column > 0 && column + 1 + (end - at) > width) {
      folded += '\n' + std::string(indent, ' ');
      column = 0;
    }
    if (column > 0) folded += ' ';
    column += (column > 0 ? 1 : 0) + (end - at);
    folded.append(text, at, end - at);
    at = end + 1;
  }
  return folded;
}

// CLI11's own usage does not mention `--`, and its help lists for each option the options that
// exclude it. This formatter leaves that out.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) { column_width(k_text_column); }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    std::size_t gap = 0;
    while ((gap = text.find("\n\n\n", gap)) != std::string::npos) text.erase(gap, 1);
    return text;
  }

  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    constexpr std::string_view k_usage = "Usage: ";
    constexpr char k_kept_blank = '\x01';  // inside brackets
    std::string usage = usage_;
    int depth = 0;
    for (char& c : usage) {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (c == ' ' && depth > 0) c = k_kept_blank;
    }
    usage = fold(usage, k_columns - k_usage.size(), k_usage.size());
    std::ranges::replace(usage, k_kept_blank, ' ');
    return "\n" + std::string(k_usage) + usage + "\n";
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    return fold(CLI::Formatter::make_option_desc(option), k_columns - k_text_column);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::string text = "  " + command->get_name();
    text.resize(std::max(k_text_column, text.size() + 1), ' ');
    return text + fold(command->get_description(), k_columns - k_text_column, k_text_column) + "\n";
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const bool has_value = option->nonpositional() && option->get_type_size() != 0;
    const std::string value = has_value ? option->get_type_name() : "";
    return (value.empty() ? "" : " " + value) + (option->get_expected_max() > 1 ? " ..." : "");
  }

 private:
  std::string usage_;
};

CLI::Option& add(CLI::App& app, std::string_view names, OptionSet::Target target,
                 std::string_view help) {
  return *std::visit(
      [&](auto* value) { return app.add_option(std::string(names), *value, std::string(help)); },
      target);
}

// Returns what --help says about the value that the target has before parsing: the default.
std::string default_of(OptionSet::Target target) {
  const auto* text = std::get_if<std::string*>(&target);
  return text == nullptr || (*text)->empty() ? "" : " [" + **text + "]";
}

}  // namespace

void OptionSet::set_usage(std::string_view usage, std::string_view examples) {
  if (!given_.has_all()) return;
  app_.formatter(std::make_shared<Help>(std::string(usage)));
  app_.footer(app_.get_parent() == nullptr
                  ? "rlock help COMMAND shows the options of a command."
                  : (examples.empty() ? "" : "Examples:\n" + std::string(examples) + "\n") +
                        "The global options (rlock --help) are accepted here, too.");
}

std::string OptionSet::set_group(const std::string& heading) {
  std::string before = app_.option_defaults()->get_group();
  app_.option_defaults()->group(heading);
  return before;
}

void OptionSet::add_argument(std::string_view name, Target target, std::string_view help,
                             Need need) {
  CLI::Option& argument = add(app_, name, target, help);
  argument.required(need == Need::required);
  unprotect(argument);
}

void OptionSet::add_value(std::string_view names, Target target, std::string_view placeholder,
                          std::string_view help, const std::vector<std::string>& choices) {
  if (!given_.has_any_of(names)) return;
  CLI::Option& option = add(app_, names, target, std::string(help) + default_of(target));
  option.type_name(std::string(placeholder));
  option.allow_extra_args(false);  // a value for each time that it is given
  if (!choices.empty()) option.check(CLI::IsMember(choices));
}

void OptionSet::add_flag(std::string_view names, bool& flag, std::string_view help) {
  if (given_.has_any_of(names)) app_.add_flag(std::string(names), flag, std::string(help));
}

void OptionSet::add_flag(std::string_view names, std::string& value, std::string_view help) {
  if (given_.has_any_of(names)) app_.add_flag(std::string(names), value, std::string(help));
}

void OptionSet::add_synonyms(std::string_view names, bool& flag) {
  if (given_.has_any_of(names)) app_.add_flag(std::string(names), flag)->group("");
}

void OptionSet::exclude(const std::string& option, std::initializer_list<const char*> others) {
  for (const char* other : others) {
    if (CLI::Option* one = find(option), *two = find(other); one != nullptr && two != nullptr) {
      one->excludes(two);
    }
  }
}

void OptionSet::require(const std::string& option, const std::string& other) {
  CLI::Option* one = find(option);
  if (one == nullptr) return;
  CLI::Option* two = find(other);
  if (two == nullptr) throw CLI::RequiresError(option, other);
  one->needs(two);
}

CLI::Option* OptionSet::find(const std::string& name) const {
  return given_.has_all() ? app_.get_option(name) : app_.get_option_no_throw(name);
}

const std::string& OptionSet::command() const { return app_.get_name(); }

}  // namespace rlock::cli
