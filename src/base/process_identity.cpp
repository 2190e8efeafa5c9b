#include "base/process_identity.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <signal.h>
#include <unistd.h>

#include "base/process_stat.hpp"

namespace rlock {
namespace {

std::string first_line(const std::string& file) {
  std::ifstream input(file);
  std::string line;
  std::getline(input, line);
  return line;
}

// Where the number of a process means the same process: a boot, and a namespace of it.
std::string scope() {
  std::array<char, 64> space{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  if (length <= 0 || boot.empty()) return "";
  return boot + " " + std::string(space.data(), static_cast<std::size_t>(length));
}

}  // namespace

std::string process_identity(pid_t pid) {
  const std::string where = scope();
  const auto stat = read_process_stat(pid);
  return where.empty() || !stat ? "" : where + " " + std::to_string(stat->start);
}

std::optional<bool> is_running(pid_t pid, const std::string& identity) {
  const std::string where = scope();
  if (where.empty() || pid <= 0 || !identity.starts_with(where + " ")) return std::nullopt;
  if (const auto stat = read_process_stat(pid)) {
    return !stat->is_dead() && identity == where + " " + std::to_string(stat->start);
  }
  // Processes of others can be hidden from us.
  if (::kill(pid, 0) == 0 || errno != ESRCH) return std::nullopt;
  return false;
}

}  // namespace rlock
