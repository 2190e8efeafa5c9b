// rlock exec: holds locks while a command runs.

#include <algorithm>
#include <array>
#include <optional>
#include <sys/wait.h>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/random.hpp"
#include "base/wording.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/taking/all_or_none.hpp"
#include "cli/taking/exported.hpp"
#include "cli/taking/held_locks.hpp"
#include "cli/taking/taking.hpp"
#include "lock/words/held.hpp"
#include "lock/words/key_names.hpp"
#include "process/guardian.hpp"
#include "process/supervisor.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

using process::Supervisor;

constexpr const char* k_unconfirmed = "it was not confirmed in time";
constexpr const char* k_stood_still =
    "rlock stood still until the lease had nearly ended, so its guardian ended the command";
constexpr const char* k_not_kept =
    ": not kept for --at-least: its lease ended before the server answered the release";

// The options as the user typed them.
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
  std::vector<std::string> names;  // sorted, so that runs with the same names do not deadlock
  std::vector<std::string> command;
  Request request;  // for each of the names
  bool renew;
  Supervisor::OnLost on_lost;
  Milliseconds grace;
  Milliseconds at_least{};
  std::optional<Milliseconds> at_most;
  bool is_quiet = false;

  [[nodiscard]] Milliseconds lease() const { return request.wish.terms.lease; }
};

// `command`: the words after `--`. Throws Error (usage).
ExecPlan make_plan(const ExecOptions& options,
                   const std::optional<std::vector<std::string>>& command) {
  ExecPlan plan;
  plan.names = options.names;
  for (const std::string& name : plan.names) lock::check_name(name);
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
  plan.on_lost = options.on_lost == "kill"     ? Supervisor::OnLost::kill
                 : options.on_lost == "ignore" ? Supervisor::OnLost::ignore
                                               : Supervisor::OnLost::term;
  plan.grace = std::min(Milliseconds(5000), plan.lease() / 3);
  if (options.kill_after) {
    plan.grace = parse_duration_option("--kill-after", *options.kill_after);
    if (plan.grace > plan.lease() / 3) {
      throw Error(ExitStatus::usage, "--kill-after: it is longer than a third of the lease of " +
                                         format_duration(plan.lease()));
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

Supervisor::Options supervision(const ExecPlan& plan, HeldLocks& locks,
                                const process::Guardian& guardian) {
  const TimePoint start = BootClock::now();
  Supervisor::Options options;
  options.lost_fd = locks.lost_fd();
  options.loss_time = [&] { return locks.loss_time(); };
  options.on_lost = plan.on_lost;
  options.grace = plan.grace;
  options.ask = [&] { locks.ask(); };
  options.answer_fd = locks.answer_fd();
  if (plan.at_most) options.time_limit = after(start, *plan.at_most);
  options.start_late = [&] {
    try {
      locks.start_watchdog(HeldLocks::Use::our_session);
      return true;
    } catch (const std::exception&) {  // as long as the lease lasts, another try may succeed
      return false;
    }
  };
  // A first renewal is far away as a rule, and most commands are short: they do without the thread.
  if (plan.renew) {
    Milliseconds late = std::min(plan.lease(), lock::k_default_lease) / 10;
    locks.for_each(
        [&](const HeldLock& held) { late = std::min(late, held.lock->renewal_interval()); });
    options.late_start = after(start, late);
  }
  options.on_loss = [&] {
    locks.report_loss(guardian.has_killed() ? k_stood_still : k_unconfirmed);
  };
  options.on_time_limit = [&] {
    if (plan.is_quiet) return;
    say(first_of(escape_for_terminal(plan.names.front()), plan.names.size()) +
        ": the command has run for " + format_duration(*plan.at_most) + " (--at-most): ending it");
  };
  options.on_unkillable = [&](pid_t pid) {
    say("process " + std::to_string(pid) +
        " cannot be ended: it belongs to another user, and goes on" +
        (locks.is_lost() ? " without the lock" : ""));
  };
  return options;
}

// Returns how to run what the user perhaps took for a shell's command line, or nothing.
std::string advice_for_shell(const std::string& program) {
  constexpr std::array k_builtins = {
      "!",        "(",        ".",       ":",        "[[",      "{",       "alias",  "bg",
      "bind",     "break",    "builtin", "caller",   "case",    "cd",      "chdir",  "command",
      "compgen",  "complete", "compopt", "continue", "coproc",  "declare", "dirs",   "disown",
      "enable",   "eval",     "exec",    "exit",     "export",  "fc",      "fg",     "for",
      "function", "getopts",  "hash",    "help",     "history", "if",      "jobs",   "kill",
      "let",      "local",    "logout",  "mapfile",  "popd",    "pushd",   "read",   "readarray",
      "readonly", "return",   "select",  "set",      "shift",   "shopt",   "source", "suspend",
      "time",     "times",    "trap",    "type",     "typeset", "ulimit",  "umask",  "unalias",
      "unset",    "until",    "wait",    "while"};
  if (std::ranges::find(k_builtins, program) != k_builtins.end()) {
    return "; it is a word of the shell: give one string to -c in the place of '-- CMD'";
  }
  const bool is_line = program.find_first_of(" \t\n;&|<>()$`") != std::string::npos ||
                       program.find('=') != std::string::npos;
  return is_line ? "; if it is a command line for a shell, give it to -c in the place of '-- CMD'"
                 : "";
}

void start_command(Supervisor& supervisor, const process::Command& command) {
  try {
    supervisor.start(command);
  } catch (const Error& error) {
    // "." is a directory, too.
    if (error.status() != ExitStatus::not_found && command.argv[0] != ".") throw;
    throw Error(error.status(), error.what() + advice_for_shell(command.argv[0]));
  }
}

int run_command(const ExecPlan& plan, HeldLocks& locks, lock::Session& session,
                process::Guardian& guardian, process::Signals& signals) {
  // From here on signals are the command's; none must interrupt a request of ours.
  session.set_wake_fd(-1);
  const process::Command command{plan.command, make_environment(locks, guardian.marker())};
  signals.read_all();
  if (const auto signal = signal_to_end(signals)) {
    locks.release(Milliseconds(0));
    return end_by_signal(*signal);
  }
  if (locks.is_lost()) {
    locks.report_loss(k_unconfirmed);
    say(first_of(escape_for_terminal(plan.names.front()), plan.names.size()) +
        ": the command was not started; use a longer --lease if taking the lock is slow");
    locks.release(Milliseconds(0));
    return static_cast<int>(ExitStatus::lost);
  }
  guardian.arm();
  guardian.set_start_limit(lock::kill_time(locks.end(), plan.lease()));
  Supervisor supervisor(signals, guardian, supervision(plan, locks, guardian));
  start_command(supervisor, command);
  const TimePoint start = BootClock::now();  // the system may have taken its time
  Supervisor::Result result;
  try {
    result = supervisor.run();
  } catch (...) {
    supervisor.kill_command();
    throw;
  }
  if (result.is_unsure) {
    guardian.leave();
  } else {
    guardian.disarm();
  }
  // Where the guardian has ended the command, it may have missed a daemon.
  const bool is_struck = guardian.has_killed() || BootClock::now() >= guardian.kill_time();
  const bool is_unsure = is_struck ? !supervisor.kill_command() : result.is_unsure;
  const bool lost =
      result.lost || is_struck || BootClock::now() >= lock::kill_time(locks.end(), plan.lease());
  if (lost && !result.lost) {  // otherwise the loss was reported before
    locks.report_loss(guardian.has_killed() ? k_stood_still : k_unconfirmed);
  }
  if (is_unsure) {
    say(first_of(escape_for_terminal(plan.names.front()), plan.names.size()) +
        ": it is not certain that all processes of the command have ended: the lock is not "
        "released, it ends with its lease");
    return lost ? static_cast<int>(ExitStatus::lost) : status_of(result);
  }
  const auto ran = std::chrono::ceil<Milliseconds>(BootClock::now() - start);
  const Milliseconds keep = std::max(plan.at_least - ran, Milliseconds(0));
  const auto released = locks.release(keep);
  if (!lost) {  // otherwise the loss was reported before
    for (const std::string& name : released.not_held) say(describe_loss(name, k_not_ours));
    if (keep > Milliseconds(0)) {
      for (const std::string& name : released.ended) say(escape_for_terminal(name) + k_not_kept);
    }
  }
  if (lost || !released.not_held.empty()) return static_cast<int>(ExitStatus::lost);
  // The keyboard's signal went to the command alone: what waits for us in our job hears it, too.
  if (result.typed_ctrl_c) ::kill(0, SIGINT);
  // A script goes on unless what it waits for dies of Ctrl-C itself.
  const bool is_interrupted = result.ended == Supervisor::Ended::by_itself &&
                              WIFSIGNALED(result.wait_status) &&
                              WTERMSIG(result.wait_status) == SIGINT;
  return is_interrupted ? end_by_signal({SIGINT, true, false}) : status_of(result);
}

int run_exec(const Globals& globals, const ExecOptions& options, ExecPlan plan) {
  plan.is_quiet = globals.quiet;
  plan.request.server_wait = globals.server_wait(options.take.wait_server);
  lock::SessionOptions session_options =
      servers_for(globals, options.take, plan.request.wish.terms, plan.at_least);
  process::Signals signals;
  const auto preexisting_children = process::children_of_this_process();
  session_options.client.wake_fd = signals.fd();
  lock::Session session(session_options);
  const std::string run = random_hex(lock::k_run_id_bytes);
  check_room(plan.names, plan.request.wish, run);
  std::optional<process::Guardian> guardian;
  const auto set_up_guardian = [&] {
    const bool kill = plan.on_lost == Supervisor::OnLost::kill;
    // rlock notices after up to twice the bound: a third of the lease, and most of it is still to
    // come.
    if (!guardian) {
      guardian.emplace(run, kill ? Milliseconds(0) : plan.grace, plan.lease() / 6,
                       preexisting_children);
    }
  };
  // A fork takes time. If it fails here, rlock forks at the first lock or wait.
  session.client().set_meanwhile([&] {
    try {
      set_up_guardian();
    } catch (const std::exception&) {
    }
  });
  HeldLocks::Options held;
  held.watchdog_session = session_options;
  held.renew = plan.renew;
  held.reserve = [&] { return plan.grace + guardian->search_margin(); };
  held.on_end_moved = [&](TimePoint end) {
    set_up_guardian();
    if (plan.on_lost == Supervisor::OnLost::ignore) return;
    guardian->set_kill_time(lock::kill_time(end, plan.lease()));
  };
  HeldLocks locks(session, std::move(held));
  std::vector<Request> requests;
  for (const std::string& name : plan.names) {
    Request& request = requests.emplace_back(plan.request);
    request.wish.name = name;
    request.on_wait = set_up_guardian;
  }
  try {
    if (!take_all(std::move(requests), globals, session, locks)) {
      return static_cast<int>(plan.request.conflict);
    }
    return run_command(plan, locks, session, *guardian, signals);
  } catch (const redis::Interrupted&) {
    locks.release(Milliseconds(0));
    return end_by_signal(signal_to_end(signals).value());
  } catch (...) {
    locks.release(Milliseconds(0));
    throw;
  }
}

constexpr const char* k_examples =
    "  A cron job of ten hosts: the first one runs it, the others skip it.\n"
    "    rlock exec -n -E 0 --at-least 50s backup -- /usr/local/bin/backup --all\n"
    "  One deployment after the other, in the order in which they were asked for.\n"
    "    rlock exec --fair -w 10m deploy -- ./deploy.sh production\n"
    "  At most three encoders at once, for two hours at the most.\n"
    "    rlock exec --permits 3 --at-most 2h encode -- ./encode film.mkv\n";

}  // namespace

Action set_up_exec(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<ExecOptions>();
  command.set_usage("rlock exec [OPTIONS] NAME... {-- CMD [ARG...] | -c STRING}", k_examples);
  command.add_argument("NAME", &options->names, "Names of the locks");
  options->take.add_to(command);
  command.set_group("The command");
  command.add_value("-c", &options->shell, "STRING", "Run /bin/sh -c STRING instead of CMD");
  command.add_value("--on-lost", &options->on_lost, "ACTION",
                    "What happens to CMD when the lock is lost", {"term", "kill", "ignore"});
  command.add_value("--kill-after", &options->kill_after, "DUR",
                    "Time from SIGTERM to SIGKILL when rlock ends CMD [5s, at most a third of the "
                    "lease]");
  command.add_value("--at-least", &options->at_least, "DUR",
                    "Keep the lock for at least this time, even if CMD ends sooner");
  command.add_value("--at-most", &options->at_most, "DUR",
                    "End CMD after this time, with status 124");
  return [&invocation, options] {
    limit_messages();
    return run_exec(invocation.globals, *options, make_plan(*options, invocation.command));
  };
}

}  // namespace rlock::cli
