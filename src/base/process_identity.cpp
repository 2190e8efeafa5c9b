#include "base/process_identity.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/process_stat.hpp"

namespace rlock {
namespace {

constexpr std::size_t k_uuid_length = 36;

// Returns the UUID of this boot, empty if the kernel does not tell it.
std::string boot_id() {
  const Fd fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, k_uuid_length> id{};
  const ssize_t length = ::read(fd.get(), id.data(), id.size());
  return {id.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

// Returns the name of a namespace of this process, empty if the kernel does not tell it.
std::string name_of_namespace(const char* file) {
  std::array<char, 64> name{};
  const ssize_t length = ::readlink(file, name.data(), name.size());
  return {name.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

// Where the number of a process means the same process, and its start the same moment: a boot, and
// two namespaces of it.
std::string read_scope() {
  const std::string processes = name_of_namespace("/proc/self/ns/pid");
  const std::string boot = boot_id();
  if (processes.empty() || boot.empty()) return "";
  return boot + " " + processes + name_of_namespace("/proc/self/ns/time");
}

// The same, read once: a snapshot asks for each of its waiters.
const std::string& scope() {
  static const std::string read = read_scope();
  return read;
}

}  // namespace

std::string process_identity(pid_t pid) {
  const std::string& where = scope();
  const auto stat = read_process_stat(pid);
  return where.empty() || !stat ? "" : where + " " + std::to_string(stat->start);
}

std::optional<bool> is_running(pid_t pid, const std::string& identity) {
  const std::string& where = scope();
  if (where.empty() || pid <= 0 || !identity.starts_with(where + " ")) return std::nullopt;
  if (const auto stat = read_process_stat(pid)) {
    return !stat->is_dead() && identity == where + " " + std::to_string(stat->start);
  }
  // Processes of others can be hidden from us.
  if (::kill(pid, 0) == 0 || errno != ESRCH) return std::nullopt;
  return false;
}

bool is_this_or_above(pid_t pid, const std::string& identity) {
  if (is_running(pid, identity) != true) return false;
  pid_t found = ::getpid();
  while (found > 1 && found != pid) {
    const auto stat = read_process_stat(found);
    found = stat ? stat->parent : 0;
  }
  return found == pid;
}

}  // namespace rlock
