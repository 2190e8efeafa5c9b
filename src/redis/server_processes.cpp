#include "redis/server_processes.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/integer.hpp"
#include "base/private_server.hpp"

namespace rlock::redis {
namespace {

namespace fs = std::filesystem;

// Returns the begin of a file, empty if it cannot be read: its process may have ended.
std::string read_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t size = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : 0;
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

std::string target_of(const std::string& link) {
  std::error_code hidden;
  return fs::read_symlink(link, hidden).string();
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat a {};
  struct stat b {};
  return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

bool is_ours(const std::string& proc) {
  struct stat status {};
  return ::stat(proc.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

// A private server has the flock of its working directory.
bool is_private_server(const std::string& proc) {
  const std::string lock = std::to_string(k_private_server_lock);
  return read_file(proc + "fdinfo/" + lock).find("FLOCK") != std::string::npos &&
         is_same_file(proc + "fd/" + lock, proc + "cwd");
}

// Returns whether the command line names the server's socket, in the form that rlock or the server
// gave it.
bool is_named_for(const std::string& proc, const std::string& directory) {
  return read_file(proc + "cmdline").find(directory + "/redis.sock") != std::string::npos;
}

int count_sockets(const std::string& proc) {
  int sockets = 0;
  std::error_code error;
  for (fs::directory_iterator file(proc + "fd", error), end; !error && file != end;
       file.increment(error)) {
    if (target_of(file->path().string()).starts_with("socket:")) ++sockets;
  }
  return sockets;
}

std::optional<ServerProcess> look_at(pid_t pid, const std::string& directory) {
  const std::string proc = "/proc/" + std::to_string(pid) + "/";
  if (!is_ours(proc)) return std::nullopt;
  // First: what is read then is of the process to which it refers.
  Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const bool is_here = is_same_file(proc + "cwd", directory);
  if (!handle.valid() || !(is_here || is_named_for(proc, directory)) || !is_private_server(proc)) {
    return std::nullopt;
  }
  // A container has directories of its own by intention.
  if (!is_here && target_of(proc + "ns/pid") != target_of("/proc/self/ns/pid")) return std::nullopt;
  const bool is_removed = target_of(proc + "cwd").ends_with(" (deleted)");
  using enum ServerProcess::Where;
  return ServerProcess{pid, std::move(handle),
                       is_here      ? here
                       : is_removed ? removed
                                    : elsewhere,
                       count_sockets(proc)};
}

}  // namespace

void ServerProcess::end() const noexcept {
  ::syscall(SYS_pidfd_send_signal, handle.get(), SIGTERM, nullptr, 0);
}

std::vector<ServerProcess> find_server_processes(const std::string& directory) {
  std::vector<ServerProcess> found;
  std::error_code error;
  for (fs::directory_iterator file("/proc", error), end; !error && file != end;
       file.increment(error)) {
    const auto pid = parse_integer<pid_t>(file->path().filename().string());
    if (!pid) continue;
    if (auto server = look_at(*pid, directory)) found.push_back(std::move(*server));
  }
  return found;
}

}  // namespace rlock::redis
