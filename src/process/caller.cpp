#include "process/caller.hpp"

#include <array>
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
#include "process/socket_peer.hpp"

namespace rlock::process {
namespace {

constexpr int k_most_looks = 3;  // if a look does not show the caller

std::string proc(pid_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

// A pipe, or one end of a connection between sockets.
using Stream = std::pair<dev_t, ino_t>;

std::optional<Stream> pipe_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return std::nullopt;
  return Stream{status.st_dev, status.st_ino};
}

// Returns whether a process has this stream open for reading, if we may know.
bool reads(pid_t pid, const Stream& stream) {
  const std::string path = proc(pid, "fd/");
  const NumberedFiles files(path);
  while (const auto fd = files.next()) {
    const std::string name = path + std::to_string(*fd);
    struct stat link {};
    struct stat status {};
    if (::lstat(name.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) continue;
    const bool is_readable = (link.st_mode & S_IRUSR) != 0;
    if (is_readable && ::stat(name.c_str(), &status) == 0 &&
        Stream{status.st_dev, status.st_ino} == stream) {
      return true;
    }
  }
  return false;
}

std::string program(pid_t pid) {
  const auto stat = read_process_stat(pid);
  return escape_for_terminal(stat ? stat->name : "") + " (" + std::to_string(pid) + ")";
}

// Returns which of `pid` and the processes above it reads `stream`, if any. Throws UnclearCaller if
// another program is between the two, or if rlock itself could read the stream.
std::optional<pid_t> find_reader(pid_t pid, const Stream& stream) {
  if (reads(::getpid(), stream)) {
    throw UnclearCaller(
        "rlock has inherited the end from which its output is read, as may have "
        "other programs that do not read it");
  }
  std::optional<pid_t> between;
  while (pid > 0) {
    if (reads(pid, stream)) {
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

// Returns the process that reads what this one, a child of `parent`, prints into a pipe or a
// socket. In $(rlock acquire NAME | PROGRAM), this is the shell that reads from PROGRAM.
pid_t find_reader_of_output(pid_t parent, const struct stat& output) {
  const std::optional<ino_t> end =
      S_ISSOCK(output.st_mode) ? peer_of_socket(output.st_ino) : output.st_ino;
  auto reader = end ? find_reader(parent, {output.st_dev, *end}) : std::nullopt;
  pid_t shell = parent;
  for (auto stat = read_process_stat(shell); !reader && stat && stat->has_only_forked();
       stat = read_process_stat(shell)) {
    const auto onward = pipe_at(proc(shell, "fd/1"));
    if (onward && *onward != Stream{output.st_dev, output.st_ino}) {
      reader = find_reader(shell, *onward);
    }
    shell = stat->parent;
  }
  if (reader) return *reader;
  throw UnclearCaller("no process above rlock can be seen to read what it prints");
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

// Returns whether /proc shows a process. The mounted /proc may be another PID namespace's.
bool is_visible(pid_t pid) {
  std::array<char, 16> own{};
  const ssize_t size = ::readlink("/proc/self", own.data(), own.size());
  return size > 0 &&
         std::string(own.data(), static_cast<std::size_t>(size)) == std::to_string(::getpid()) &&
         read_process_stat(pid);
}

// Returns the process that goes on when this one, or a subshell, has ended.
pid_t find_caller() {
  { const std::array<Event, 2> needed_to_look; }  // throws Error: 'could not look' is not 'nobody'
  const pid_t parent = ::getppid();
  if (parent == 0) throw UnclearCaller("the process that called rlock is in another container");
  if (!is_visible(parent)) throw UnclearCaller("/proc does not show the process that called rlock");
  struct stat output {};
  const bool is_read = ::fstat(STDOUT_FILENO, &output) == 0 &&
                       (S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode));
  if (is_read) return leave_pipelines(find_reader_of_output(parent, output));
  if (parent == 1) {
    throw UnclearCaller("process 1 called rlock, or took the place of the one that did");
  }
  return leave_pipelines(parent);
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
    if (errno == EINVAL || errno == ENOENT) {  // since Linux 6.15
      throw Error(ExitStatus::usage, name + ": this is the number of a thread");
    }
    if (errno == ESRCH) throw Error(ExitStatus::usage, name + ": there is none");
    throw Error(ExitStatus::unavailable, name + ": it cannot be followed: " + errno_text(errno));
  }
  const bool may_watch = ::kill(pid, 0) == 0 || errno != EPERM;
  check_alive(watched);  // until now, its number was its own
  if (!may_watch) throw Error(ExitStatus::permission, name + ": it belongs to another user");
  return watched;
}

Watched watch_caller() {
  for (int looks = 1;; ++looks) {
    try {
      Watched watched = watch_process(find_caller());
      // Had it ended before the handle was there, its number could be another's.
      if (find_caller() == watched.pid) return watched;
    } catch (const UnclearCaller&) {  // the kernel may have been short of something for a moment
      if (looks == k_most_looks) throw;
    }
  }
}

}  // namespace rlock::process
