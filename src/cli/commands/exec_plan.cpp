#include "cli/commands/exec_plan.hpp"

#include <algorithm>

#include "base/duration.hpp"
#include "base/error.hpp"

namespace rlock::cli {

ExecPlan make_plan(const ExecOptions& options,
                   const std::optional<std::vector<std::string>>& command) {
  ExecPlan plan;
  plan.names = options.take.keys_of(options.names);
  std::ranges::sort(plan.names);
  plan.names.erase(std::unique(plan.names.begin(), plan.names.end()), plan.names.end());
  if (options.shell) {
    if (command) throw Error(ExitStatus::usage, "exec: -c takes the place of '-- CMD'");
    plan.command = {"/bin/sh", "-c", *options.shell};
  } else if (!command) {
    throw Error(ExitStatus::usage,
                "exec: '--' is missing; expected rlock exec NAME -- CMD [ARG...]");
  } else if (command->empty()) {
    throw Error(ExitStatus::usage, "exec: no command after '--'");
  } else {
    plan.command = *command;
  }
  plan.request = make_request(options.take, lock::about_this_process(plan.command[0]));
  plan.renew = !options.take.no_watchdog;
  using process::Supervisor;
  plan.on_lost = options.on_lost == "kill"     ? Supervisor::OnLost::kill
                 : options.on_lost == "ignore" ? Supervisor::OnLost::ignore
                                               : Supervisor::OnLost::term;
  plan.grace = std::min(Milliseconds(5000), plan.lease() / 3);
  if (options.kill_after) {
    plan.grace = parse_duration_option("--kill-after", *options.kill_after);
    if (plan.grace > plan.lease() / 3) {
      throw Error(ExitStatus::usage, "--kill-after: at most a third of the lease (" +
                                         format_duration(plan.lease() / 3) + ")");
    }
  }
  if (options.at_least) plan.at_least = parse_duration_option("--at-least", *options.at_least);
  if (options.at_most) plan.at_most = parse_duration_option("--at-most", *options.at_most);
  if (plan.at_most == Milliseconds(0)) plan.at_most.reset();  // as timeout(1) has it
  if (plan.at_most && plan.at_least > *plan.at_most) {
    throw Error(ExitStatus::usage, "--at-least: it is longer than --at-most");
  }
  return plan;
}

}  // namespace rlock::cli
