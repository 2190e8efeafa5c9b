// rlock acquire: takes a lock and leaves it to a watchdog in the background.

#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <unistd.h>

#include "base/escape.hpp"
#include "base/integer.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/settings/take_options.hpp"
#include "cli/taking/background_watchdog.hpp"
#include "cli/taking/exported.hpp"
#include "cli/taking/taking.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/kind.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

using Standing = lock::Hold::Standing;

struct AcquireOptions {
  std::string name;
  TakeOptions take;
  std::optional<std::string> pid;
  std::string shell;  // that --export is for, as it was given; "true" without a value
  bool exports() const { return !shell.empty(); }
  Shell evaluator() const { return shell == "fish" ? Shell::fish : Shell::posix; }
};

std::string result(const HeldLock& held, const Globals& globals, const AcquireOptions& options,
                   const std::string& others) {
  if (options.exports()) return export_code(held, others, options.evaluator());
  if (!globals.json) return held.hold.owner + "\n";
  return to_line({{"name", to_utf8(held.lock->name())},
                  {"owner", to_utf8(held.hold.owner)},
                  {"kind", lock::traits_of(held.lock->kind()).name},
                  {"token", value_or_null(held.hold.token)},
                  {"lease_ms", held.hold.lease.count()},
                  {"count", held.hold.count}});
}

void check(const Globals& globals, const AcquireOptions& options) {
  const std::string& shell = options.shell;
  if (options.exports() && shell != "fish" && shell != "sh" && shell != "true") {
    throw Error(ExitStatus::usage,
                "acquire: --export: '" + quote_input(shell) +
                    "' is neither sh (also for bash, dash, ksh and zsh) nor fish");
  }
  if (globals.json && options.exports()) {
    throw Error(ExitStatus::usage, "acquire: --json or --export, not both");
  }
  if (options.exports() && static_cast<int>(options.take.conflict_exit_status()) == 0) {
    throw Error(ExitStatus::usage,
                "acquire: -E 0 with --export: the script would go on as if it had the lock");
  }
  // stdout is closed (see main), so nobody would get the owner.
  if ((::fcntl(STDOUT_FILENO, F_GETFL) & O_PATH) != 0) {
    throw Error(ExitStatus::unavailable, "stdout: " + errno_text(EBADF));
  }
}

// Returns the process with whose life the lock ends; nothing if only its lease ends it.
std::optional<process::Watched> find_caller(const AcquireOptions& options) {
  if (options.take.no_watchdog) return std::nullopt;
  if (options.pid) {
    const pid_t pid = parse_integer<pid_t>(*options.pid).value_or(0);
    if (pid == ::getpid()) {
      throw Error(ExitStatus::usage,
                  "--pid: process " + std::to_string(pid) +
                      " is rlock itself, in the place of a subshell; set a variable before, as in "
                      "p=$BASHPID, and give --pid $p");
    }
    if (pid > 0) return process::watch_process(pid);
    throw Error(ExitStatus::usage,
                "--pid: '" + quote_input(*options.pid) + "' is not a process number");
  }
  try {
    return process::watch_caller();
  } catch (const process::UnclearCaller& error) {
    throw Error(error.status(), std::string("acquire: which process needs the lock? ") +
                                    error.what() +
                                    "; give --pid PID ($$ in a shell), or --no-watchdog");
  }
}

int acquire(const Globals& globals, const AcquireOptions& options) {
  const std::string& name = options.name;
  lock::check_name(name);
  check(globals, options);
  const auto caller = find_caller(options);
  lock::About about = caller ? lock::about_process(caller->pid) : lock::about_calling_process();
  about.listens = caller && lock::traits_of(options.take.lock_kind()).holder_listens;
  Request request = make_request(options.take, about);
  request.wish.name = name;
  request.server_wait = globals.server_wait(options.take.wait_server);
  lock::SessionOptions session_options = servers_for(globals, options.take, request.wish.terms);
  process::Signals signals;
  session_options.client.wake_fd = signals.fd();
  std::optional<BackgroundWatchdog> watchdog;
  Fd wake;
  if (caller) {
    watchdog.emplace(request.wish, session_options, *caller);
    // Nobody else would tell us that it was killed, and a wait may have no end.
    wake = either(signals.fd(), caller->handle.get());
    session_options.client.wake_fd = wake.get();
  }
  lock::Session session(session_options);
  const auto release = [&](const HeldLock& held) {
    session.set_wake_fd(-1);
    held.lock->release(session, Milliseconds(0));
  };
  try {
    std::string others;
    std::optional<HeldLock> held;
    const auto renew_owner = [&] {
      request.wish.owner = lock::with_fresh_uuid(request.wish.owner);
    };
    wait_for_server(request, globals, session, renew_owner, [&] {
      if (options.exports()) others = held_to_export(request.wish, session);
      held = take(request, globals, session);
    });
    if (!held) return static_cast<int>(request.conflict);
    if (const auto signal = signal_to_end(signals)) {
      release(*held);
      return end_by_signal(*signal);
    }
    if (held->hold.standing != Standing::granted && !options.exports()) {
      release(*held);
      throw Error(ExitStatus::usage, escape_for_terminal(name) +
                                         ": a run above this one holds it: give --export, or "
                                         "unlock could not tell the two holds apart");
    }
    try {
      // A shell may have had both ends of a pipe open for a moment, before it started the program
      // that reads.
      if (caller && find_caller(options)->pid != caller->pid) {
        throw Error(ExitStatus::usage, "acquire: the process that needs the lock has changed");
      }
      print_or_throw(result(*held, globals, options, others),
                     wake.valid() ? wake.get() : signals.fd());
      // A nested hold is nothing of its own that could be renewed or given back.
      if (watchdog && held->hold.standing != Standing::nested) watchdog->hand_over(held->hold);
      if (!watchdog) session.settle();
    } catch (const Error&) {  // nobody would know whose lock it is, or nobody would keep it
      release(*held);
      if (const auto signal = signal_to_end(signals)) return end_by_signal(*signal);
      throw;
    }
    return 0;
  } catch (const redis::Interrupted&) {
    if (const auto signal = signal_to_end(signals)) return end_by_signal(*signal);
    if (caller) process::check_alive(*caller);
    throw;
  }
}

int run_acquire(const Globals& globals, const AcquireOptions& options) {
  limit_messages();
  const auto tell_failure = [&](int status) {
    if (options.exports() && status != 0) print(failure_code(status, options.evaluator()));
  };
  try {
    const int end = acquire(globals, options);
    tell_failure(end < 0 ? static_cast<int>(ExitStatus::signal_base) - end : end);
    return end;
  } catch (const std::exception& exception) {
    tell_failure(static_cast<int>(to_error(exception).status()));
    throw;
  }
}

}  // namespace

Action set_up_acquire(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<AcquireOptions>();
  command.set_usage("rlock acquire [OPTIONS] NAME");
  command.add_argument("NAME", &options->name, "Name of the lock");
  options->take.add_to(command);
  command.set_group("The shell");
  command.add_value("--pid", &options->pid, "PID",
                    "Release the lock when this process ends [the caller of rlock]");
  command.exclude("--pid", {"--no-watchdog"});
  command.add_flag("--export", options->shell,
                   "Print shell code for eval instead of the owner. For fish: --export=fish");
  return [&invocation, options] { return run_acquire(invocation.globals, *options); };
}

}  // namespace rlock::cli
