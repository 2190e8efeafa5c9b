#include "processes.hpp"

#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>

#include "contents.hpp"
#include "wait_until.hpp"

namespace rlock::test {
namespace {

constexpr std::size_t k_shortest_marker = 8;

std::string proc_file(pid_t pid, const char* name) {
  return contents("/proc/" + std::to_string(pid) + "/" + name);
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, CloseDir> dir(::opendir("/proc"));
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (pid > 0 && *end == '\0') {
      pids.push_back(static_cast<pid_t>(pid));
    }
  }
  return pids;
}

bool contains(const std::string& text, std::string_view marker) {
  return text.find(marker) != std::string::npos;
}

}  // namespace

std::optional<ProcessStat> process_stat(pid_t pid) {
  const std::string text = proc_file(pid, "stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(text.substr(name_end + 1));
  ProcessStat stat;
  fields >> stat.state >> stat.parent >> stat.group >> stat.session;
  return fields ? std::optional(stat) : std::nullopt;
}

namespace {

std::vector<pid_t> members(pid_t ProcessStat::*field, pid_t value) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    const auto stat = process_stat(pid);
    if (stat && (*stat).*field == value && stat->state != 'Z' && stat->state != 'X') {
      found.push_back(pid);
    }
  }
  return found;
}

}  // namespace

std::vector<pid_t> processes_with(std::string_view marker) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    if (pid != ::getpid() &&
        (contains(proc_file(pid, "environ"), marker) ||
         contains(proc_file(pid, "cmdline"), marker)) &&
        alive(pid)) {
      found.push_back(pid);
    }
  }
  return found;
}

std::vector<pid_t> processes_in_group(pid_t group) { return members(&ProcessStat::group, group); }

std::vector<pid_t> processes_in_session(pid_t session) {
  return members(&ProcessStat::session, session);
}

bool alive(pid_t pid) {
  const auto stat = process_stat(pid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

bool stopped(pid_t pid) {
  const auto stat = process_stat(pid);
  return stat && stat->state == 'T';
}

std::ptrdiff_t threads_of(pid_t pid) {
  std::error_code none;
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task", none);
  return std::distance(begin(threads), end(threads));
}

namespace {

// Returns the number in a line of /proc/PID/status, or -1.
long status_of(pid_t pid, const std::string& line) {
  const std::string text = proc_file(pid, "status");
  const std::string start = "\n" + line + ":";
  const std::size_t at = text.find(start);
  return at == std::string::npos ? -1 : std::strtol(text.c_str() + at + start.size(), nullptr, 10);
}

}  // namespace

long sleeps_of(pid_t pid) { return status_of(pid, "voluntary_ctxt_switches"); }

long resident_kib(pid_t pid) { return status_of(pid, "VmRSS"); }
long most_resident_kib(pid_t pid) { return status_of(pid, "VmHWM"); }

void kill_processes_with(std::string_view marker) {
  if (marker.size() < k_shortest_marker) {
    throw std::invalid_argument("kill_processes_with: the marker is too short to be unique");
  }
  wait_until(
      [marker] {
        const std::vector<pid_t> left = processes_with(marker);
        for (const pid_t pid : left) {
          ::kill(pid, SIGKILL);
        }
        return left.empty();
      },
      std::chrono::seconds(5));
}

}  // namespace rlock::test
