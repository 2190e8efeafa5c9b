#include "redis/local_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/escape.hpp"
#include "base/private_server.hpp"
#include "base/words.hpp"
#include "redis/server_error.hpp"
#include "redis/server_processes.hpp"

namespace rlock::redis {
namespace {

constexpr Milliseconds k_poll{10};
constexpr Milliseconds k_between_looks{200};  // at the processes of this machine
// A server may have ended just now, so the flock may be free more than once, but not forever.
constexpr int k_most_starts = 3;

[[noreturn]] void refuse(const std::string& directory, const std::string& why) {
  throw Error(ExitStatus::config, "local:" + escape_for_terminal(directory) + ": " + why);
}

std::string socket_in(const std::string& directory) { return directory + "/redis.sock"; }

// Returns why the directory is not private, or nothing.
std::string complaint(const std::string& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0) return errno_text(errno);
  if (S_ISLNK(status.st_mode)) return "a symbolic link; name the directory itself";
  if (!S_ISDIR(status.st_mode)) return "not a directory";
  if (status.st_uid != ::geteuid()) return "the directory belongs to another user";
  if ((status.st_mode & 07777) == 0700) return "";
  return "the directory must be private (mode 0700); name one that is rlock's own";
}

void check_privacy(const std::string& directory) {
  const std::string wrong = complaint(directory);
  if (!wrong.empty()) refuse(directory, wrong);
}

// Refuses a directory of something else: the server would put its files among those that are there.
void check_use(const std::string& directory) {
  std::error_code error;
  bool is_empty = true;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name == "server.log" || name == k_private_server_pid || name == "appendonlydir") return;
    is_empty = false;
  }
  if (!is_empty) refuse(directory, "it has files of something else; name an empty directory");
}

// The default for users other than root. Root's was here, too, before it was in /run.
std::string place_in_tmp() { return "/tmp/rlock-" + std::to_string(::geteuid()); }

// The default does not depend on the environment, nor on whether the user is logged in: cron, a
// service and a shell must meet. $XDG_RUNTIME_DIR would not do: cron often does not have it, and it
// vanishes when the user logs out, while a command may go on.
std::string place_of(std::string directory) {
  // The system would follow a symbolic link.
  while (directory.size() > 1 && (directory.ends_with('/') || directory.ends_with("/."))) {
    directory.pop_back();
  }
  if (!directory.empty()) return directory;
  // A service may have a /tmp of its own.
  std::error_code none;
  const bool has_run = ::geteuid() == 0 && std::filesystem::is_directory("/run", none);
  return has_run ? "/run/rlock" : place_in_tmp();
}

// As place_of. But where an older rlock has started the default server, that one goes on.
std::string place_in_use(const std::string& directory) {
  std::string place = place_of(directory);
  const auto has_socket = [](const std::string& where) {
    return ::access(socket_in(where).c_str(), F_OK) == 0;
  };
  if (!directory.empty() || has_socket(place)) return place;
  std::string old = place_in_tmp();
  return complaint(old).empty() && has_socket(old) ? old : place;
}

// Makes the directory if it is not there. Returns a descriptor that holds its flock, or an invalid
// one if a server has it. The server inherits the descriptor, so the lock is held exactly as long
// as the server lives, and the program that cleans /tmp leaves a locked directory alone.
Fd try_lock_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    refuse(directory, errno_text(errno));
  }
  check_privacy(directory);
  Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) {
    if (is_resource_exhausted(errno)) throw Unavailable(errno_text(errno));
    refuse(directory, errno_text(errno));
  }
  struct stat locked {};
  struct stat present {};
  // The directory of that name may be another one by now.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(fd.get(), &locked) != 0 ||
      ::lstat(directory.c_str(), &present) != 0 || locked.st_dev != present.st_dev ||
      locked.st_ino != present.st_ino) {
    fd.reset();
  }
  return fd;
}

// Returns the name of a file that the server's log of changes lacks, or nothing. Without its list,
// a server would begin with no locks.
std::string missing_file(const std::string& directory) {
  const std::string log = directory + "/appendonlydir";
  std::error_code none;
  if (std::filesystem::is_empty(log, none) || none) return "";
  std::string list = "appendonly.aof.manifest";
  std::ifstream manifest(log + "/" + list);
  if (!manifest) return list;
  for (std::string line; std::getline(manifest, line);) {
    const std::vector<std::string> parts = words(line);  // file NAME seq N type T
    if (parts.size() < 2 || parts[0] != "file") continue;
    if (::access((log + "/" + parts[1]).c_str(), F_OK) != 0) return parts[1];
  }
  return "";
}

// Returns whether a server that is started now would have the locks of the server before it.
bool has_whole_log(const std::string& directory) {
  std::error_code none;
  const bool has_log = std::filesystem::exists(directory + "/appendonlydir", none) ||
                       std::filesystem::exists(directory + "/appendonly.aof", none);  // Redis 6
  return has_log && missing_file(directory).empty();
}

void check_log(const std::string& directory) {
  const std::string missing = missing_file(directory);
  if (missing.empty()) return;
  throw Unavailable("the server's log of changes lacks " + escape_for_terminal(missing) +
                    ", so locks may be forgotten: when no command runs under a lock of this "
                    "server, remove " +
                    escape_for_terminal(directory) + "/appendonlydir");
}

// Returns the words of the server's command line.
std::vector<std::string> server_command(const std::string& directory) {
  const std::pair<const char*, std::string> options[] = {
      {"--port", "0"},
      {"--unixsocket", socket_in(directory)},
      {"--unixsocketperm", "700"},
      {"--dir", directory},
      {"--pidfile", directory + "/" + k_private_server_pid},
      {"--daemonize", "no"},
      {"--logfile", directory + "/server.log"},
      {"--save", ""},
      {"--appendonly", "yes"},
      {"--maxmemory-policy", "noeviction"}};
  std::vector<std::string> words = {"redis-server"};
  for (const auto& [option, value] : options) words.insert(words.end(), {option, value});
  return words;
}

// Returns the server programs that are installed, the best first.
std::vector<std::string> find_programs() {
  std::vector<std::string> places = {"/usr/local/bin", "/usr/bin", "/usr/sbin"};
  const std::string path = from_environment("PATH").value_or("");
  for (const std::string_view place : split(path, ':')) places.emplace_back(place);
  std::vector<std::string> programs;
  for (const char* program : {"redis-server", "valkey-server"}) {
    for (const std::string& place : places) {
      const std::string file = place + "/" + program;
      if (::access(file.c_str(), X_OK) == 0) programs.push_back(file);
    }
  }
  return programs;
}

// Becomes the server: in a session of its own, with nothing of ours but `lock_fd`.
[[noreturn]] void exec_server(const std::vector<std::string>& programs,
                              const std::vector<const char*>& argv, int lock_fd) {
  ::setsid();
  if (::fork() != 0) ::_exit(0);  // the server is nobody's child
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) ::dup2(null, fd);
  ::dup2(lock_fd, k_private_server_lock);
  ::fcntl(k_private_server_lock, F_SETFD, 0);  // not FD_CLOEXEC, also where it was `lock_fd`
  ::close_range(k_private_server_lock + 1, ~0U, 0);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::umask(077);
  // All runs of this user share the server, also those that may use more memory than this one.
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(resource, &limit);
  }
  std::array<const char*, 2> environment = {"PATH=/usr/local/bin:/usr/bin:/bin", nullptr};
  for (const std::string& file : programs) {
    ::execve(file.c_str(), const_cast<char* const*>(argv.data()),
             const_cast<char* const*>(environment.data()));
  }
  ::_exit(127);
}

void start_server(const std::string& directory, const Fd& lock) {
  check_use(directory);
  check_log(directory);
  const std::vector<std::string> words = server_command(directory);
  std::vector<const char*> argv;  // made before the fork, like all that takes memory
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  const std::vector<std::string> programs = find_programs();
  if (programs.empty()) {
    throw Unavailable("no server program is installed: install redis-server or valkey-server");
  }
  ::unlink(socket_in(directory).c_str());  // of a server that was killed
  const pid_t child = ::fork();
  if (child < 0) throw Unavailable("cannot start the server: " + errno_text(errno));
  if (child == 0) exec_server(programs, argv, lock.get());
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Returns whether nothing listens at the socket. A server that is slow does.
bool is_abandoned(const std::string& socket) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socket.copy(name.sun_path, sizeof name.sun_path - 1);
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return fd.valid() &&
         ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 &&
         (errno == ENOENT || errno == ECONNREFUSED);
}

std::string describe_used(const ServerProcess& server) {
  return "the files of its server (process " + std::to_string(server.pid) +
         ") were removed while programs use it: another one is started when they have ended";
}

// Ends a server whose socket was removed or replaced. One that is started again has its locks. If
// the locks would be lost, the server goes on until nobody can rely on them: then returns why.
// `suspect`: the server that was found before, for one that is about to listen gets a second look.
std::string end_abandoned(const std::string& directory, pid_t& suspect) {
  const std::vector<ServerProcess> servers = find_server_processes(directory);
  if (!is_abandoned(socket_in(directory))) return "";
  for (const ServerProcess& server : servers) {
    if (server.where != ServerProcess::Where::here || server.sockets == 0) continue;
    if (std::exchange(suspect, server.pid) != server.pid) continue;
    if (server.sockets > 1 && !has_whole_log(directory)) return describe_used(server);
    server.end();
  }
  return "";
}

// Returns why no server may be started yet: one whose directory was removed still has locks. Ends
// it when no program uses it any more.
std::string end_removed(const std::string& directory) {
  for (const ServerProcess& server : find_server_processes(directory)) {
    if (server.where == ServerProcess::Where::elsewhere) {
      refuse(directory,
             "process " + std::to_string(server.pid) +
                 " is a server for another directory of that path: it was renamed, or a service "
                 "has its own (PrivateTmp=); name a directory that all runs see");
    }
    if (server.where == ServerProcess::Where::here) continue;
    if (server.sockets > 1) return describe_used(server);
    server.end();
    return "the server before it (process " + std::to_string(server.pid) + ") does not end";
  }
  return "";
}

// Starts a server, and connects as soon as it accepts connections.
Fd start_and_connect(const std::string& directory, const Deadline& deadline) {
  // A refusal leaves no directory behind.
  if (::access(directory.c_str(), F_OK) != 0) end_removed(directory);
  std::string obstacle;
  pid_t suspect = 0;
  TimePoint next_look = after(BootClock::now(), k_between_looks);
  for (int starts = 0;;) {
    Milliseconds wait = k_poll;
    if (const Fd lock = try_lock_directory(directory); lock.valid()) {
      obstacle = end_removed(directory);
      if (!obstacle.empty()) {
        wait = k_between_looks;
      } else if (starts++ < k_most_starts) {
        start_server(directory, lock);
      } else {
        throw Unavailable("the server does not start: see " + escape_for_terminal(directory) +
                          "/server.log");
      }
    } else if (BootClock::now() >= next_look) {
      obstacle = end_abandoned(directory, suspect);
      next_look = after(BootClock::now(), k_between_looks);
    }
    pause({std::min(after(BootClock::now(), wait), deadline.when), deadline.cancel_fd});
    try {
      return connect_unix(socket_in(directory), deadline);
    } catch (const Unavailable&) {  // not yet
    }
    if (BootClock::now() < deadline.when) continue;
    throw Unavailable(obstacle.empty()
                          ? "the server does not start " + in_time(deadline) + ": see " +
                                escape_for_terminal(directory) + "/server.log"
                          : obstacle);
  }
}

}  // namespace

Fd connect_local(const std::string& directory, const Deadline& deadline) {
  const std::string place = place_of(directory);
  if (socket_in(place).size() >= sizeof(sockaddr_un::sun_path)) {
    refuse(place, "the path is too long for a socket");
  }
  try {
    return connect_unix(local_socket(directory), deadline);
  } catch (const Error&) {
    if (BootClock::now() >= deadline.when) throw;
  }
  return start_and_connect(place, deadline);
}

std::string local_socket(const std::string& directory) {
  const std::string place = place_in_use(directory);
  check_privacy(place);
  return socket_in(place);
}

std::string socket_identity(const std::string& directory) {
  struct stat status {};
  if (::stat(socket_in(place_in_use(directory)).c_str(), &status) != 0) return "";
  return std::to_string(status.st_dev) + " " + std::to_string(status.st_ino);
}

}  // namespace rlock::redis
