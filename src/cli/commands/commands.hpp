// The commands of rlock. Each function sets up the options of a command and returns its action.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/settings/globals.hpp"

namespace CLI {
class App;
}

namespace rlock::cli {

// The words after `--` on the command line of exec.
struct Behind {
  bool given = false;
  std::vector<std::string> words;
};

// The content of the command line, except the options of one command.
struct Invocation {
  Globals globals;
  Behind behind;
  bool has_options = true;  // a word before `--` starts with '-'
};

// Runs a command. Returns the status to exit with. Throws Error.
using Action = std::function<int()>;

// Each returns the command's action, which refers to `invocation`.
[[nodiscard]] Action set_up_exec(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_acquire(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_renew(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_unlock(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_evict(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_fence(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_inspect_queue(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_list(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_doctor(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_watch(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_config(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_complete(CLI::App& command, const Invocation& invocation);

}  // namespace rlock::cli
