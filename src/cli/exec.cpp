// rlock exec: holds locks while a command runs. The only place that knows both locks and processes.

#include <algorithm>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/random.hpp"
#include "cli/all_or_none.hpp"
#include "cli/command_environment.hpp"
#include "cli/commands.hpp"
#include "cli/held_locks.hpp"
#include "cli/help.hpp"
#include "cli/literal_words.hpp"
#include "cli/message.hpp"
#include "cli/take_options.hpp"
#include "cli/taking.hpp"
#include "process/guardian.hpp"
#include "process/supervisor.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

using process::Supervisor;

constexpr std::size_t k_run_id_bytes = 8;

struct ExecOptions {
  std::vector<std::string> names;
  TakeOptions take;
  std::optional<std::string> shell;
  std::string on_lost = "term";
  std::optional<std::string> kill_after;
  std::optional<std::string> at_least;
  std::optional<std::string> at_most;
};

// ExecOptions with every text understood.
struct ExecPlan {
  std::vector<std::string> names;  // sorted: two runs with the same names never wait for each other
  std::vector<std::string> command;
  lock::About about;
  lock::Kind kind;
  lock::Terms terms{lock::k_default_lease};
  Milliseconds fair_wait;
  int permits;
  TimePoint wait_deadline;
  ExitStatus conflict;
  bool renew;
  Supervisor::OnLost on_lost;
  Milliseconds grace;
  Milliseconds at_least{};
  std::optional<Milliseconds> at_most;
};

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

int status_of(const Supervisor::Result& result) {
  if (result.ended == Supervisor::Ended::by_time) return static_cast<int>(ExitStatus::timed_out);
  if (WIFSIGNALED(result.wait_status)) {
    return static_cast<int>(ExitStatus::signal_base) + WTERMSIG(result.wait_status);
  }
  return WEXITSTATUS(result.wait_status);
}

int run_command(const ExecPlan& plan, HeldLocks& locks, lock::Session& session,
                process::Guardian& guardian, const std::string& run, process::Signals& signals) {
  const TimePoint start = BootClock::now();
  const auto kill_deadline = [&] {
    return plan.on_lost == Supervisor::OnLost::ignore
               ? TimePoint::max()
               : lock::kill_time(locks.end(), plan.terms.lease);
  };
  Supervisor::Options options;
  options.lost_fd = locks.lost_fd();
  options.on_lost = plan.on_lost;
  options.grace = plan.grace;
  options.kill_deadline = kill_deadline;
  options.may_resume = [&] { return locks.are_ours(); };
  options.marker = run;
  options.guardian = guardian.pid();
  if (plan.at_most) options.time_limit = after(start, *plan.at_most);
  // A first renewal is far away, and most commands are short: they do without the thread.
  options.late_start = after(start, std::min(plan.terms.lease, lock::k_default_lease) / 10);
  options.start_late = [&] { locks.start_watchdog(); };
  if (!plan.renew) options.loss_time = lock::last_moment(locks.end(), plan.terms.lease, plan.grace);

  // From here on signals are the command's; none must interrupt a request of ours.
  session.set_wake_fd(-1);
  Supervisor supervisor(signals, options);
  const process::Command command{plan.command, make_environment(locks, run)};
  signals.read_all();
  if (const auto signal = signal_to_end(signals)) {
    locks.release(Milliseconds(0));
    return end_by_signal(*signal);
  }
  if (locks.is_lost()) {
    locks.report_loss();
    locks.release(Milliseconds(0));
    return static_cast<int>(ExitStatus::lost);
  }
  const auto is_over = [&] { return BootClock::now() >= kill_deadline(); };
  guardian.arm();
  guardian.set_group(supervisor.start(command));
  // Where rlock was stopped just before, the guardian came too early.
  if (is_over()) supervisor.kill_command();
  Supervisor::Result result;
  try {
    result = supervisor.run();
  } catch (...) {
    supervisor.kill_command();
    throw;
  }
  guardian.dismiss();
  // Past that time, it was the guardian who ended the command, and it may have missed a daemon.
  if (is_over()) supervisor.kill_command();
  const bool lost =
      result.lost || BootClock::now() >= lock::kill_time(locks.end(), plan.terms.lease);
  if (lost) locks.report_loss();
  const auto ran = std::chrono::ceil<Milliseconds>(BootClock::now() - start);
  const auto gone = locks.release(std::max(plan.at_least - ran, Milliseconds(0)));
  if (!lost) {  // else it has been told
    for (const std::string& name : gone) {
      say(escape_for_terminal(name) +
          ": lock lost: it was deleted or evicted, or somebody else has it");
    }
  }
  if (lost || !gone.empty()) return static_cast<int>(ExitStatus::lost);
  if (result.typed_ctrl_c) {
    // The keyboard's signal went to the command alone: what waits for us in our job hears it, too.
    ::kill(0, SIGINT);
    return end_by_signal({SIGINT, true, false});
  }
  return status_of(result);
}

int run_exec(const Globals& globals, const ExecOptions& options, const Behind& behind) {
  ExecPlan plan = make_plan(options, behind);
  lock::SessionOptions session_options = globals.session_options();
  options.take.fit_to_servers(session_options, plan.terms, plan.at_least);
  warn_of_even_number(session_options, globals);
  process::Signals signals;
  session_options.client.wake_fd = signals.fd();
  if (options.take.no_info) session_options.client.name = "rlock";
  lock::Session session(session_options);
  const std::string owner = options.take.owner();
  const std::string run = random_hex(k_run_id_bytes);
  check_room(plan.names, owner, run);
  std::optional<process::Guardian> guardian;
  const auto set_up_guardian = [&] {
    const bool kill = plan.on_lost == Supervisor::OnLost::kill;
    if (!guardian) guardian.emplace(run, kill ? Milliseconds(0) : plan.grace);
  };
  HeldLocks::Options held;
  held.watchdog_session = session_options;
  held.renew = plan.renew;
  held.reserve = plan.grace;
  held.on_end_moved = [&](TimePoint end) {
    set_up_guardian();
    if (plan.on_lost == Supervisor::OnLost::ignore) return;
    guardian->set_kill_time(lock::kill_time(end, plan.terms.lease));
  };
  HeldLocks locks(session, std::move(held));
  std::vector<Request> requests;
  for (const std::string& name : plan.names) {
    Request& request = requests.emplace_back();
    request.wish = {name,      owner,          plan.about,           plan.terms,
                    plan.kind, plan.fair_wait, options.take.value(), plan.permits};
    request.deadline = plan.wait_deadline;
    request.conflict = plan.conflict;
    request.on_busy = set_up_guardian;
  }
  try {
    if (!take_all(std::move(requests), globals, session, locks)) {
      return static_cast<int>(plan.conflict);
    }
    return run_command(plan, locks, session, *guardian, run, signals);
  } catch (const redis::Interrupted&) {
    locks.release(Milliseconds(0));
    return end_by_signal(signal_to_end(signals).value());
  } catch (...) {
    locks.release(Milliseconds(0));
    throw;
  }
}

}  // namespace

Action set_up_exec(CLI::App& command, const Invocation& invocation) {
  const auto options = std::make_shared<ExecOptions>();
  set_usage(command, "rlock exec [OPTIONS] NAME... -- CMD [ARG...]");
  unprotect(*command.add_option("NAME", options->names, "Names of the locks")->required());
  options->take.add_to(command);
  command.add_option("-c", options->shell, "Run /bin/sh -c STRING instead of '-- CMD'")
      ->type_name("STRING");
  command.add_option("--on-lost", options->on_lost, "What CMD gets when the lock is lost [term]")
      ->type_name("ACTION")
      ->check(CLI::IsMember({"term", "kill", "ignore"}));
  command
      .add_option("--kill-after", options->kill_after,
                  "From SIGTERM to SIGKILL [5s, at most a third of the lease]")
      ->type_name("DUR");
  command
      .add_option("--at-least", options->at_least,
                  "Keep the lock at least so long, even if CMD ends sooner")
      ->type_name("DUR");
  command.add_option("--at-most", options->at_most, "End CMD after so long, with status 124")
      ->type_name("DUR");
  return
      [&invocation, options] { return run_exec(invocation.globals, *options, invocation.behind); };
}

}  // namespace rlock::cli
