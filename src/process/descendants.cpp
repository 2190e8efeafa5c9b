#include "process/descendants.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <signal.h>
#include <string_view>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/private_server.hpp"
#include "process/background.hpp"

namespace rlock::process {
namespace {

constexpr unsigned k_forked_without_exec = 0x40;  // the kernel's PF_FORKNOEXEC

struct Entry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  bool zombie = false;
  bool is_background = false;  // a process::Background
  bool belongs = false;
};

std::string read_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // it may be a pipe
  std::string content;
  std::array<char, 4096> buffer;  // NOLINT: read fills it
  while (fd.valid()) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return content;
}

// Returns 0 if it is none.
template <typename Number>
Number parse_number(std::string_view text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? number : 0;
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

// /proc/PID/stat: "pid (program) state parent group session terminal its-group flags ..."; the
// program may contain anything.
std::optional<Entry> read_entry(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t start = stat.find('(');
  const std::size_t end = stat.rfind(')');
  if (start == std::string::npos || end == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(stat).substr(end + 1);
  Entry entry;
  entry.pid = pid;
  const std::string_view state = next_word(rest);
  entry.zombie = state == "Z" || state == "X";
  entry.parent = parse_number<pid_t>(next_word(rest));
  entry.group = parse_number<pid_t>(next_word(rest));
  for (int i = 0; i < 3; ++i) next_word(rest);
  const auto flags = parse_number<unsigned>(next_word(rest));
  // A program of that name has a right to it, but it is none of ours.
  entry.is_background = stat.substr(start + 1, end - start - 1) == k_background_name &&
                        (flags & k_forked_without_exec) != 0;
  return entry;
}

std::vector<Entry> all_processes() {
  std::vector<Entry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  while (const dirent* file = directory ? ::readdir(directory.get()) : nullptr) {
    const auto pid = parse_number<pid_t>(file->d_name);
    if (pid <= 0) continue;
    if (const auto entry = read_entry(pid)) entries.push_back(*entry);
  }
  return entries;
}

bool has_marker(pid_t pid, const std::string& marker) {
  return !marker.empty() &&
         read_file("/proc/" + std::to_string(pid) + "/environ").find(marker) != std::string::npos;
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

std::vector<pid_t> find_processes(const Tree& tree) {
  std::vector<Entry> entries = all_processes();
  const pid_t self = ::getpid();
  const auto excluded = [&](const Entry& entry) {
    return entry.pid == self || entry.pid == tree.root || entry.pid == tree.except ||
           (entry.is_background && entry.group != tree.group);
  };
  for (Entry& entry : entries) {
    if (excluded(entry)) continue;
    entry.belongs = (tree.group != 0 && entry.group == tree.group) ||
                    has_marker(entry.pid, tree.marker) ||
                    (tree.root != 0 && entry.parent == tree.root && !is_private_server(entry.pid));
  }
  for (bool grew = true; grew;) {
    grew = false;
    for (Entry& entry : entries) {
      if (entry.belongs || excluded(entry)) continue;
      entry.belongs = std::any_of(entries.begin(), entries.end(),
                                  [&](const Entry& other) {
                                    return other.belongs && other.pid == entry.parent;
                                  }) &&
                      !is_private_server(entry.pid);
      grew = grew || entry.belongs;
    }
  }
  std::vector<pid_t> found;
  for (const Entry& entry : entries) {
    if (entry.belongs && !entry.zombie) found.push_back(entry.pid);
  }
  return found;
}

void terminate(const Tree& tree) {
  const std::vector<pid_t> processes = find_processes(tree);
  const auto is_in_group = [&](pid_t pid) { return ::getpgid(pid) == tree.group; };
  // Without a process of ours in it, the number may be another group's by now.
  const bool whole =
      tree.group != 0 && std::any_of(processes.begin(), processes.end(), is_in_group);
  for (const int signal : {SIGTERM, SIGCONT}) {
    // All of the group in one go: a script must not see its program end and start the next one
    // before it is told to end itself.
    if (whole) ::kill(-tree.group, signal);
    for (const pid_t pid : processes) {
      if (!whole || !is_in_group(pid)) ::kill(pid, signal);
    }
  }
}

bool kill_now(const Tree& tree) {
  // A process may fork between being seen and being killed: look again until nothing new is there.
  std::vector<pid_t> killed;
  while (true) {
    if (tree.group != 0) ::kill(-tree.group, SIGKILL);
    const std::vector<pid_t> processes = find_processes(tree);
    bool any_new = false;
    for (const pid_t pid : processes) {
      if (std::find(killed.begin(), killed.end(), pid) != killed.end()) continue;
      ::kill(pid, SIGKILL);
      killed.push_back(pid);
      any_new = true;
    }
    if (!any_new) return processes.empty();
  }
}

}  // namespace rlock::process
