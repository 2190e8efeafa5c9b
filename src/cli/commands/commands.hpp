// The commands of rlock, and how their options are set up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/parsing/option_set.hpp"
#include "cli/settings/globals.hpp"
#include "cli/terminal/message.hpp"

namespace rlock::cli {

// The content of the command line, except the options of one command.
struct Invocation {
  Globals globals;
  std::optional<std::vector<std::string>> command;  // the words after `--` of exec
};

// Runs a command. Returns the status to exit with, or minus the signal by which the process is to
// end itself. Throws Error.
using Action = std::function<int()>;

// Each sets up the options of a command and returns its action, which refers to `invocation`.
[[nodiscard]] Action set_up_exec(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_acquire(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_renew(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_unlock(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_evict(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_fence(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_inspect_queue(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_list(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_doctor(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_watch(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_config(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_completion(OptionSet command, const Invocation& invocation);
[[nodiscard]] Action set_up_complete(OptionSet command, const Invocation& invocation);

// Says `text`, unless -q is given. Returns the exit status for a lock that is not held.
[[nodiscard]] inline int not_held(const Globals& globals, const std::string& text) {
  if (!globals.quiet) say(text);
  return static_cast<int>(ExitStatus::not_held);
}

}  // namespace rlock::cli
