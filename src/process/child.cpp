#include "process/child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <signal.h>
#include <string_view>
#include <unistd.h>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/escape.hpp"

namespace rlock::process {
namespace {

constexpr int k_no_guardian = -1;  // no errno

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

constexpr std::size_t k_pid_size = std::numeric_limits<pid_t>::digits10 + 2;  // and the end of text

// systemd names the process for which it sets variables. Where that is this process, it now is the
// command: returns the places in `environment` for the number of its process, k_pid_size long.
std::vector<char*> make_room_for_pid(std::vector<std::string>& environment) {
  constexpr std::array<std::string_view, 3> k_names = {
      "LISTEN_PID=", "WATCHDOG_PID=", "SYSTEMD_EXEC_PID="};
  const std::string own = std::to_string(::getpid());
  // It says the same as LISTEN_PID, is optional, and cannot be known before the process exists.
  if (std::ranges::find(environment, "LISTEN_PID=" + own) != environment.end()) {
    std::erase_if(environment, [](const auto& one) { return one.starts_with("LISTEN_PIDFDID="); });
  }
  std::vector<char*> places;
  for (std::string& variable : environment) {
    for (const std::string_view name : k_names) {
      if (!variable.starts_with(name) || variable.substr(name.size()) != own) continue;
      variable.resize(name.size() + k_pid_size);
      places.push_back(variable.data() + name.size());
    }
  }
  return places;
}

// Returns why `program` could not be executed.
std::string describe_failure(const std::string& program, int failure) {
  const std::string name = program.empty() ? "''" : quote_input(program);
  const bool is_path = program.find('/') != std::string::npos;
  // The kernel has one error for a script that is missing and for one whose interpreter is.
  if (failure == ENOENT && is_path && ::access(program.c_str(), F_OK) == 0) {
    return name + ": its interpreter does not exist";
  }
  if (failure == ENOENT && !is_path && !program.empty()) {
    const auto path = from_environment("PATH");
    return name + ": not found" +
           (path ? " in PATH (" + quote_input(*path) + ")" : "; PATH is not set");
  }
  return name + ": " + errno_text(failure);
}

}  // namespace

pid_t start_child(const Command& command, const Signals& signals, const Terminal& terminal,
                  const Guardian& guardian) {
  const bool gives_terminal = terminal.is_for_command();
  const std::vector<char*> argv = pointers(command.argv);
  std::vector<std::string> variables = command.environment;
  const std::vector<char*> pid_places = make_room_for_pid(variables);
  const std::vector<char*> environment = pointers(variables);
  // The child uses this process's memory until it runs the command, and this process waits for
  // that. This is cheap, and the child's errno arrives here. The child must change no other memory.
  volatile int failure = 0;
  const pid_t child = ::vfork();
  if (child == 0) {
    ::setpgid(0, 0);
    if (gives_terminal) terminal.give_to(::getpid());
    signals.restore_in_child();
    for (char* const place : pid_places) {
      *std::to_chars(place, place + k_pid_size - 1, ::getpid()).ptr = '\0';
    }
    // This is the last step, because a stop or a slow machine may have used up the lease before.
    const auto admission = guardian.register_command();
    if (admission == Guardian::Admission::too_late) ::kill(::getpid(), SIGKILL);
    if (admission == Guardian::Admission::no_guardian) {
      failure = k_no_guardian;
      ::_exit(127);
    }
    ::execvpe(argv[0], argv.data(), environment.data());
    failure = errno;
    ::_exit(127);
  }
  if (child < 0) throw_errno("cannot start a process");
  if (failure == k_no_guardian) {
    throw Error(ExitStatus::unavailable,
                "the guardian does not answer: the command was not started");
  }
  if (failure != 0) {
    const ExitStatus status = failure == ENOENT                ? ExitStatus::not_found
                              : is_resource_exhausted(failure) ? ExitStatus::unavailable
                                                               : ExitStatus::not_executable;
    throw Error(status, describe_failure(command.argv[0], failure));
  }
  return child;
}

}  // namespace rlock::process
