#include "cli/commands/exec_plan.hpp"

#include <algorithm>

#include "base/duration.hpp"
#include "base/error.hpp"

namespace rlock::cli {

ExecPlan make_plan(const ExecOptions& options, const Behind& behind) {
  ExecPlan plan;
  plan.names = options.take.keys_of(options.names);
  std::sort(plan.names.begin(), plan.names.end());
  plan.names.erase(std::unique(plan.names.begin(), plan.names.end()), plan.names.end());
  if (options.shell) {
    if (behind.given) throw Error(ExitStatus::usage, "exec: -c takes the place of '-- CMD'");
    plan.command = {"/bin/sh", "-c", *options.shell};
  } else if (!behind.given) {
    throw Error(ExitStatus::usage,
                "exec: '--' is missing; expected rlock exec NAME -- CMD [ARG...]");
  } else if (behind.words.empty()) {
    throw Error(ExitStatus::usage, "exec: no command after '--'");
  } else {
    plan.command = behind.words;
  }
  plan.about = options.take.tell(lock::about_this_process(plan.command[0]));
  plan.kind = options.take.lock_kind();
  plan.terms = options.take.terms();
  plan.fair_wait = options.take.fair_wait_length();
  plan.permits = options.take.permit_count();
  plan.wait_deadline = options.take.wait_deadline();
  plan.conflict = options.take.conflict_exit_status();
  plan.renew = !options.take.no_watchdog;
  using process::Supervisor;
  plan.on_lost = options.on_lost == "kill"     ? Supervisor::OnLost::kill
                 : options.on_lost == "ignore" ? Supervisor::OnLost::ignore
                                               : Supervisor::OnLost::term;
  plan.grace = std::min(Milliseconds(5000), plan.terms.lease / 3);
  if (options.kill_after) {
    plan.grace = parse_duration_option("--kill-after", *options.kill_after);
    if (plan.grace > plan.terms.lease / 3) {
      throw Error(ExitStatus::usage, "--kill-after: at most a third of the lease (" +
                                         format_duration(plan.terms.lease / 3) + ")");
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
