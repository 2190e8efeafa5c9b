#include "redis/local_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
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

namespace rlock::redis {
namespace {

// Starting a server takes longer than a command: fifty processes on a slow machine wait for one.
constexpr Milliseconds k_start_bound{20'000};
constexpr Milliseconds k_poll{10};

[[noreturn]] void refuse(const std::string& directory, const std::string& why) {
  throw Error(ExitStatus::config, "local:" + escape_for_terminal(directory) + ": " + why);
}

void check_privacy(const std::string& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0) refuse(directory, errno_text(errno));
  if (!S_ISDIR(status.st_mode)) refuse(directory, "not a directory");
  if (status.st_uid != ::geteuid()) refuse(directory, "the directory belongs to another user");
  if ((status.st_mode & 07777) != 0700) {
    refuse(directory, "the directory must be private (mode 0700); name one that is rlock's own");
  }
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

// The default does not depend on the environment: cron and a shell must meet.
std::string place_of(const std::string& directory) {
  return directory.empty() ? "/tmp/rlock-" + std::to_string(::geteuid()) : directory;
}

// Returns a descriptor that holds the directory's flock, or an invalid one if a server has it.
// The server inherits the descriptor, so the lock is held exactly as long as the server lives, and
// the program that cleans /tmp leaves a locked directory alone.
Fd try_lock_directory(const std::string& directory) {
  Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) refuse(directory, errno_text(errno));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

// Returns the words of the server's command line.
std::vector<std::string> server_command(const std::string& directory) {
  const std::pair<const char*, std::string> options[] = {
      {"--port", "0"},
      {"--unixsocket", directory + "/redis.sock"},
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
  std::array<const char*, 2> environment = {"PATH=/usr/local/bin:/usr/bin:/bin", nullptr};
  for (const std::string& file : programs) {
    ::execve(file.c_str(), const_cast<char* const*>(argv.data()),
             const_cast<char* const*>(environment.data()));
  }
  ::_exit(127);
}

void start_server(const std::string& directory, const Fd& lock) {
  check_use(directory);
  const std::vector<std::string> words = server_command(directory);
  std::vector<const char*> argv;  // made before the fork, like all that takes memory
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  const std::vector<std::string> programs = find_programs();
  if (programs.empty()) {
    throw Unavailable("no server program is installed: install redis-server or valkey-server");
  }
  ::unlink((directory + "/redis.sock").c_str());  // of a server that was killed
  const pid_t child = ::fork();
  if (child < 0) throw Unavailable("cannot start the server: " + errno_text(errno));
  if (child == 0) exec_server(programs, argv, lock.get());
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

Fd connect_local(const std::string& directory, const Patience& patience) {
  const std::string place = place_of(directory);
  const std::string socket = place + "/redis.sock";
  if (socket.size() >= sizeof(sockaddr_un::sun_path))
    refuse(place, "the path is too long for a socket");
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) refuse(place, errno_text(errno));
  check_privacy(place);
  try {
    return connect_unix(socket, patience);
  } catch (const Unavailable&) {  // none runs: start one
  }
  const Patience longer{std::max(patience.deadline, after(BootClock::now(), k_start_bound)),
                        patience.wake_fd};
  // A server may have ended just now, so the flock may be free more than once, but not for ever.
  for (int starts = 0; starts < 3 && BootClock::now() < longer.deadline;) {
    if (const Fd lock = try_lock_directory(place); lock.valid()) {
      start_server(place, lock);
      ++starts;
    }
    pause({std::min(after(BootClock::now(), k_poll), longer.deadline), longer.wake_fd});
    try {
      return connect_unix(socket, longer);
    } catch (const Unavailable&) {  // not yet
    }
  }
  throw Unavailable("the server does not start: see " + place + "/server.log");
}

std::string local_socket(const std::string& directory) {
  check_privacy(place_of(directory));
  return place_of(directory) + "/redis.sock";
}

}  // namespace rlock::redis
