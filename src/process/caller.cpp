#include "process/caller.hpp"

#include <cerrno>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "base/escape.hpp"
#include "base/process_stat.hpp"
#include "process/numbered_files.hpp"

namespace rlock::process {
namespace {

std::string proc(pid_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

using Pipe = std::pair<dev_t, ino_t>;

std::optional<Pipe> pipe_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return std::nullopt;
  return Pipe{status.st_dev, status.st_ino};
}

// Returns whether a process has this pipe open for reading, if we may know.
bool reads(pid_t pid, const Pipe& pipe) {
  const std::string path = proc(pid, "fd/");
  const NumberedFiles files(path);
  while (const auto fd = files.next()) {
    const std::string name = path + std::to_string(*fd);
    struct stat link {};
    if (::lstat(name.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) continue;
    if ((link.st_mode & S_IRUSR) != 0 && pipe_at(name) == pipe) return true;
  }
  return false;
}

std::string program(pid_t pid) {
  const auto stat = read_process_stat(pid);
  return escape_for_terminal(stat ? stat->name : "") + " (" + std::to_string(pid) + ")";
}

// Returns which of `pid` and the processes above it reads `pipe`, if any. Throws UnclearCaller if
// another program is between the two.
std::optional<pid_t> find_reader(pid_t pid, const Pipe& pipe) {
  std::optional<pid_t> between;
  while (pid > 0) {
    if (reads(pid, pipe)) {
      if (!between) return pid;
      throw UnclearCaller(program(*between) + " called rlock, and " + program(pid) +
                          " reads what it prints");
    }
    const auto stat = read_process_stat(pid);
    if (!stat) return std::nullopt;
    if (!stat->has_only_forked() && !between) between = pid;
    pid = stat->parent;
  }
  return std::nullopt;
}

std::string name_of(pid_t pid) { return "process " + std::to_string(pid); }

// Returns the shell around all substitutions and pipelines in which `pid` is a subshell, or `pid`.
// What such a subshell prints goes into a pipe that its parent does not print to. Who has the pipe
// open tells less: the shell itself has, for a moment.
pid_t leave_pipelines(pid_t pid) {
  pid_t outer = pid;
  for (auto stat = read_process_stat(pid); stat && stat->has_only_forked();
       stat = read_process_stat(pid)) {
    const auto output = pipe_at(proc(pid, "fd/1"));
    pid = stat->parent;
    if (output && pipe_at(proc(pid, "fd/1")) != output) outer = pid;
  }
  return outer;
}

// Returns the process that goes on when this one, or a subshell, has ended.
pid_t find_caller() {
  const pid_t parent = ::getppid();
  if (parent == 0) throw UnclearCaller("the process that called rlock is in another container");
  pid_t caller = parent;
  const auto output = pipe_at("/proc/self/fd/1");
  if (const auto reader = output ? find_reader(parent, *output) : std::nullopt) {
    caller = *reader;
  } else if (parent == 1) {
    throw UnclearCaller("process 1 called rlock, or took the place of the one that did");
  }
  return leave_pipelines(caller);
}

}  // namespace

bool has_ended(const Fd& handle) { return poll_now(handle, POLLIN) != 0; }

void check_alive(const Watched& watched) {
  if (has_ended(watched.handle)) {
    throw Error(ExitStatus::usage, name_of(watched.pid) + ": it has ended");
  }
}

Watched watch_process(pid_t pid) {
  const std::string name = name_of(pid);
  Watched watched{pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
  if (!watched.handle.valid()) {
    // EINVAL: the number is a thread's.
    if (errno != ESRCH && errno != EINVAL) {
      throw Error(ExitStatus::unavailable, name + ": it cannot be followed: " + errno_text(errno));
    }
    throw Error(ExitStatus::usage, name + ": there is none");
  }
  const bool may_watch = ::kill(pid, 0) == 0 || errno != EPERM;
  check_alive(watched);  // until now, its number was its own
  if (!may_watch) throw Error(ExitStatus::permission, name + ": it belongs to another user");
  return watched;
}

Watched watch_caller() {
  while (true) {
    Watched watched = watch_process(find_caller());
    // Had it ended before the handle was there, its number could be another's.
    if (find_caller() == watched.pid) return watched;
  }
}

}  // namespace rlock::process
