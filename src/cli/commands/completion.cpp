// rlock completion: prints the completion for a shell, for those who install no package. Asks no
// server.

#include <memory>

#include "base/escape.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/completions.hpp"

namespace rlock::cli {
namespace {

const char* completion_for(const std::string& shell) {
  if (shell == "bash") return k_bash_completion;
  if (shell == "zsh") return k_zsh_completion;
  if (shell == "fish") return k_fish_completion;
  throw Error(ExitStatus::usage,
              "completion: '" + quote_input(shell) + "'; expected bash, zsh or fish");
}

}  // namespace

Action set_up_completion(OptionSet command, const Invocation& /*invocation*/) {
  const auto shell = std::make_shared<std::string>();
  command.set_usage("rlock completion bash|zsh|fish");
  command.add_argument("SHELL", shell.get(), "Shell to print the completion for");
  return [shell] {
    print(completion_for(*shell));
    return 0;
  };
}

}  // namespace rlock::cli
