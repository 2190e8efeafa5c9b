#include "base/process_identity.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <signal.h>
#include <sstream>
#include <unistd.h>

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

struct Status {
  std::string state;  // one letter; "Z" and "X" are dead
  std::string start;  // in ticks since the boot
};

std::optional<Status> read_status(pid_t pid) {
  constexpr int k_start_field = 22;
  const std::string line = first_line("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  Status status;
  fields >> status.state;
  for (int field = 4; field <= k_start_field; ++field) fields >> status.start;
  return status;
}

}  // namespace

std::string process_identity(pid_t pid) {
  const std::string where = scope();
  const auto status = read_status(pid);
  return where.empty() || !status ? "" : where + " " + status->start;
}

std::optional<bool> is_running(pid_t pid, const std::string& identity) {
  const std::string where = scope();
  if (where.empty() || pid <= 0 || !identity.starts_with(where + " ")) return std::nullopt;
  if (const auto status = read_status(pid)) {
    const bool is_dead = status->state == "Z" || status->state == "X";
    return !is_dead && identity == where + " " + status->start;
  }
  // Processes of others can be hidden from us.
  if (::kill(pid, 0) == 0 || errno != ESRCH) return std::nullopt;
  return false;
}

}  // namespace rlock
