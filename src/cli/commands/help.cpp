#include "cli/commands/help.hpp"

#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

namespace rlock::cli {
namespace {

// CLI11 would write a usage of its own making, which knows nothing of `--`.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) { column_width(34); }

  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "\nUsage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

}  // namespace

void set_usage(CLI::App& command, const std::string& usage) {
  command.formatter(std::make_shared<Help>(usage));
  if (command.get_parent() != nullptr) {
    command.footer("The global options (rlock --help) are accepted here, too.");
  }
}

}  // namespace rlock::cli
