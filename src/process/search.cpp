#include "process/search.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/integer.hpp"
#include "base/private_server.hpp"
#include "process/background.hpp"
#include "process/numbered_files.hpp"

namespace rlock::process {
namespace {

// While one of these lives, the descriptors that were kept back are free.
class ReservedDescriptors {
 public:
  static constexpr std::size_t k_needed = 2;  // /proc, and a file in it

  ReservedDescriptors() { kept_.clear(); }
  ~ReservedDescriptors() {
    const int error = errno;
    if (is_kept_) keep();
    errno = error;
  }
  ReservedDescriptors(const ReservedDescriptors&) = delete;
  ReservedDescriptors& operator=(const ReservedDescriptors&) = delete;

  // Returns whether all of it could be kept back.
  static bool keep() {
    is_kept_ = true;
    while (kept_.size() < k_needed) {
      Fd fd(::open("/", O_PATH | O_CLOEXEC));
      if (!fd.valid()) return false;
      kept_.push_back(std::move(fd));
    }
    return true;
  }

 private:
  static inline std::vector<Fd> kept_;
  static inline bool is_kept_ = false;
};

std::optional<std::string> try_read(const std::string& path, int folder = AT_FDCWD) {
  const Fd fd(::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // or a pipe
  if (!fd.valid()) return std::nullopt;
  std::string content;
  std::array<char, 4096> buffer;  // NOLINT: read fills it
  ssize_t got = 0;
  while ((got = ::read(fd.get(), buffer.data(), buffer.size())) > 0) {
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) return std::nullopt;
  return content;
}

std::string read_file(const std::string& path, int folder = AT_FDCWD) {
  return try_read(path, folder).value_or("");
}

// Returns whether the call that set errno (which was 0 before) may succeed soon, because the
// machine or this process lacks something. Otherwise the process has ended, or is hidden.
bool is_short() { return is_resource_exhausted(errno) || errno == EINTR; }

// Calls `visit` with the number of each child of a process with one thread, including zombies, the
// newest first, until it returns true. On a kernel that has no list of them, calls it with the
// numbers of all processes. Returns false if something was short.
template <typename Visit>
bool visit_children(pid_t parent, Visit visit) {
  const std::string number = std::to_string(parent);
  if (auto list = try_read("/proc/" + number + "/task/" + number + "/children")) {
    while (!list->empty()) {
      list->pop_back();  // a space after each number
      const std::size_t begin = list->rfind(' ') + 1;
      if (visit(parse_integer<pid_t>(list->substr(begin)).value_or(0))) break;
      list->resize(begin);
    }
    return true;
  }
  std::vector<pid_t> numbers;
  const NumberedFiles processes("/proc");
  while (const auto pid = processes.next()) numbers.push_back(*pid);
  if (is_short()) return false;
  for (auto pid = numbers.rbegin(); pid != numbers.rend() && !visit(*pid); ++pid) {
  }
  return true;
}

bool has_marker(pid_t pid, const std::string& marker, int proc) {
  return !marker.empty() &&
         read_file(std::to_string(pid) + "/environ", proc).find(marker) != std::string::npos;
}

std::string target_of(const std::string& link) {
  std::array<char, PATH_MAX> target;  // NOLINT: readlink fills it
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  return size < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(size));
}

bool is_private_server(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid) + "/";
  const std::string lock = std::to_string(k_private_server_lock);
  return read_file(proc + "fdinfo/" + lock).find("FLOCK") != std::string::npos &&
         target_of(proc + "fd/" + lock) == target_of(proc + "cwd") &&
         read_file(proc + "cwd/" + k_private_server_pid) == std::to_string(pid) + "\n";
}

}  // namespace

void keep_room_for_search() {
  if (target_of("/proc/self") != std::to_string(::getpid())) {
    throw Error(ExitStatus::unavailable,
                "cannot look for processes: /proc is not mounted, or shows another PID namespace");
  }
  if (!ReservedDescriptors::keep()) throw_errno("cannot look for processes");
}

Search::Search(const CommandProcesses& tree, Extent extent)
    : tree_(tree), self_(::getpid()), since_(tree.since) {
  if (since_ == 0 && tree.group != 0) {
    const ReservedDescriptors room;
    if (const auto leader = read_process_stat(tree.group)) since_ = leader->start;
  }
  if (extent == Extent::all) {
    look_at_all();
    if (tree.root != 0) look_at_children();
  } else if (tree.root != 0) {
    chase_newest_child();
  }
}

void Search::look_at_all() {
  const ReservedDescriptors room;
  const NumberedFiles processes("/proc");
  const int proc = processes.fd();
  while (const auto pid = processes.next()) {
    if (auto stat = read_process_stat(*pid, proc)) all_.push_back({std::move(*stat)});
    note_failure();
  }
  note_failure();
  std::ranges::sort(all_, {}, &Process::pid);
  std::vector<Process*> by_parent;
  for (Process& process : all_) by_parent.push_back(&process);
  std::ranges::sort(by_parent, {}, &Process::parent);
  for (Process& process : all_) {
    if (is_first(process)) add(process, by_parent);
  }
  // To look at an environment takes time.
  for (Process& process : all_) {
    if (!process.belongs && !is_excluded(process) && process.start >= since_ &&
        has_marker(process.pid, tree_.marker, proc)) {
      add(process, by_parent);
    }
    note_failure();
  }
}

// A process whose parent ends between the listing of /proc and the look at that parent cannot be
// traced back to the command. Whatever is left of it has become a child of rlock by now.
void Search::look_at_children() {
  const ReservedDescriptors room;
  // No other before the newest is killed: it may live for a moment only.
  const bool could_look = visit_children(tree_.root, [this](pid_t pid) {
    const Process* before = find(pid);
    if (before != nullptr && (before->belongs || before->is_dead())) return false;
    auto now = read_process_stat(pid);
    if (!now || now->parent != tree_.root || (!now->is_dead() && !is_first(*now))) return false;
    is_complete_ = false;  // one that has ended may have left rlock another child
    if (now->is_dead()) return false;
    late_ = std::move(now);
    return true;
  });
  if (!could_look) is_complete_ = false;
}

void Search::chase_newest_child() {
  is_complete_ = false;
  const ReservedDescriptors room;
  pid_t last = 0;
  for (int tries = 0; tries < k_most_tries && !late_; ++tries) {
    pid_t dead = 0;
    visit_children(tree_.root, [&](pid_t pid) {
      auto now = read_process_stat(pid);
      if (!now || now->parent != tree_.root) return false;
      if (now->is_dead()) {
        if (dead == 0) dead = pid;
        return dead != last;  // it may have left another child since the list was made
      }
      if (!is_first(*now)) return false;
      late_ = std::move(now);
      return true;
    });
    if (dead == last) return;
    last = dead;
  }
}

void Search::note_failure() {
  is_complete_ = is_complete_ && !is_short();
  errno = 0;
}

const Search::Process* Search::find(pid_t pid) const {
  const auto found = std::ranges::lower_bound(all_, pid, {}, &Process::pid);
  return found != all_.end() && found->pid == pid ? &*found : nullptr;
}

bool Search::is_in_group(const ProcessStat& stat) const {
  return tree_.group != 0 && stat.group == tree_.group && stat.session == tree_.session;
}

bool Search::is_excluded(const ProcessStat& stat) const {
  return stat.pid == self_ || stat.pid == tree_.root || stat.pid == tree_.except ||
         (is_helper(stat, k_background_name) && !is_in_group(stat));
}

// Returns whether a process belongs whatever its parent is, apart from its environment.
bool Search::is_first(const ProcessStat& stat) const {
  if (is_excluded(stat)) return false;
  if (is_in_group(stat)) return true;
  const Identity identity{stat.pid, stat.start};
  const bool was_member = std::ranges::binary_search(tree_.members, identity);
  const bool is_child = tree_.root != 0 && stat.parent == tree_.root && stat.start >= since_;
  // One that was seen to belong may have become a server since then.
  if ((!was_member && !is_child) || is_private_server(stat.pid)) return false;
  return was_member || std::ranges::find(tree_.preexisting_children, identity) ==
                           tree_.preexisting_children.end();
}

// Adds a process and all below it. `by_parent`: all, sorted by their parents' numbers.
void Search::add(Process& first, const std::vector<Process*>& by_parent) {
  std::vector<Process*> added;
  const auto take = [&](Process& process) {
    if (!std::exchange(process.belongs, true)) added.push_back(&process);
  };
  take(first);
  while (!added.empty()) {
    const pid_t parent = added.back()->pid;
    added.pop_back();
    auto child = std::ranges::lower_bound(by_parent, parent, {}, &Process::parent);
    for (; child != by_parent.end() && (*child)->parent == parent; ++child) {
      if (!is_excluded(**child) && !is_private_server((*child)->pid)) take(**child);
    }
  }
}

std::optional<std::vector<ProcessStat>> find_children() {
  const ReservedDescriptors room;
  std::vector<ProcessStat> children;
  errno = 0;
  const bool could_look = visit_children(::getpid(), [&](pid_t pid) {
    auto stat = read_process_stat(pid);
    if (stat && stat->parent == ::getpid()) children.push_back(std::move(*stat));
    return is_short();
  });
  if (!could_look || is_short()) return std::nullopt;
  return children;
}

}  // namespace rlock::process
