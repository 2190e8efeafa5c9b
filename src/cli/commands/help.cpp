// The layout of --help.

#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.hpp"

namespace rlock::cli {
namespace {

// CLI11's own usage does not mention `--`, and its help lists for each option the options that
// exclude it. This formatter leaves that out.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) { column_width(34); }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    const char* gap = "\n\n\n";
    std::size_t at = 0;
    while ((at = text.find(gap, at)) != std::string::npos) text.erase(at, 1);
    return text;
  }

  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "\nUsage: " + usage_ + "\n";
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const bool has_value = option->nonpositional() && option->get_type_size() != 0;
    const std::string value = has_value ? option->get_type_name() : "";
    return (value.empty() ? "" : " " + value) + (option->get_expected_max() > 1 ? " ..." : "");
  }

 private:
  std::string usage_;
};

}  // namespace

void set_usage(CLI::App& command, const std::string& usage, const std::string& examples) {
  command.formatter(std::make_shared<Help>(usage));
  if (command.get_parent() != nullptr) {
    command.footer((examples.empty() ? "" : "Examples:\n" + examples + "\n") +
                   "The global options (rlock --help) are accepted here, too.");
  } else {
    command.footer("rlock help COMMAND shows the options of a command.");
  }
}

}  // namespace rlock::cli
