#include "spawn.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "fd.hpp"
#include "processes.hpp"
#include "rights.hpp"
#include "wait_until.hpp"

namespace rlock::test {
namespace {

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return name;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string full = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(full.c_str(), X_OK) == 0) {
      return full;
    }
  }
  throw std::runtime_error(k_lacks + name);
}

std::vector<std::string> environment(const EnvChanges& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) {
      result.push_back(text);
    }
  }
  for (const auto& [name, value] : changes) {
    if (value) {
      result.push_back(name + "=" + *value);
    }
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& text : strings) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

// All that the child needs, made before the fork: it may only use async-signal-safe calls.
struct Prepared {
  std::string program;
  std::vector<char*> argv;
  std::vector<char*> env;
  pid_t parent;
  int report;
};

bool place_descriptors(const SpawnPlan& plan) {
  std::array<int, 3> high{};
  const std::array<int, 3> wanted{plan.in, plan.out, plan.err};
  for (std::size_t i = 0; i < 3; ++i) {
    const int from = wanted[i] >= 0 ? wanted[i] : ::open("/dev/null", O_RDWR | O_CLOEXEC);
    high[i] = ::fcntl(from, F_DUPFD_CLOEXEC, 10);
  }
  for (int i = 0; i < 3; ++i) {
    if (::dup2(high[static_cast<std::size_t>(i)], i) < 0) {
      return false;
    }
  }
  return true;
}

bool set_up_child(const SpawnPlan& plan, const Prepared& ready) {
  if (plan.die_with_test) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != ready.parent) {
      ::_exit(127);
    }
  }
  for (int number = 1; number < NSIG; ++number) {
    ::signal(number, SIG_DFL);
  }
  for (const int number : plan.ignore_signals) {
    ::signal(number, SIG_IGN);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.own_session ? ::setsid() < 0 : plan.own_group && ::setpgid(0, 0) != 0) {
    return false;
  }
  if (!place_descriptors(plan) || (plan.own_session && ::ioctl(0, TIOCSCTTY, 0) != 0)) {
    return false;
  }
  return plan.cwd.empty() || ::chdir(plan.cwd.c_str()) == 0;
}

[[noreturn]] void run_child(const SpawnPlan& plan, const Prepared& ready) {
  if (set_up_child(plan, ready)) {
    ::execve(ready.program.c_str(), ready.argv.data(), ready.env.data());
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t put = ::write(ready.report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

pid_t spawn(const SpawnPlan& plan) {
  std::vector<std::string> argv = plan.argv;
  EnvChanges changes = plan.env;
  add_login(argv, changes);
  std::vector<std::string> env = environment(changes);
  std::array<int, 2> ends{};
  if (argv.empty() || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(EINVAL, std::generic_category(), "spawn");
  }
  const UniqueFd from_child(ends[0]);
  // Above 2, so that place_descriptors cannot overwrite it.
  UniqueFd report(::fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
  ::close(ends[1]);
  const Prepared ready{find_program(argv.front()), pointers(argv), pointers(env), ::getpid(),
                       report.get()};
  const pid_t pid = ::fork();
  if (pid == 0) {
    run_child(plan, ready);
  }
  if (pid < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  report.reset();
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(from_child.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got > 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw std::system_error(error, std::generic_category(), "start " + argv.front());
  }
  return pid;
}

Child::Child(const SpawnPlan& plan)
    : pid_(spawn(plan)), own_group_(plan.own_group), own_session_(plan.own_session) {}

Child::~Child() { end(); }

bool Child::running() {
  if (!reaped_ && ::waitpid(pid_, &raw_status_, WNOHANG) != 0) {
    reaped_ = true;
  }
  return !reaped_;
}

void Child::signal(int number) {
  if (running()) {
    ::kill(pid_, number);
  }
}

void Child::signal_group(int number) {
  if (running()) {
    ::kill(own_group_ || own_session_ ? -pid_ : pid_, number);
  }
}

// Kills the group (or session) until no live member is left; a zombie leader keeps its id from
// reuse.
void Child::kill_family() {
  if ((reaped_ && ::kill(pid_, 0) == 0) || !(own_group_ || own_session_)) {
    return;  // When the reaped id belongs to a new process, our group has ended.
  }
  const auto members = [this] {
    return own_session_ ? processes_in_session(pid_) : processes_in_group(pid_);
  };
  if (!own_session_ && ::kill(-pid_, SIGKILL) != 0) {
    return;  // The usual case: nobody is left in the group.
  }
  wait_until(
      [&] {
        const std::vector<pid_t> left = members();
        for (const pid_t pid : left) {
          ::kill(pid, SIGKILL);
        }
        return left.empty();
      },
      std::chrono::seconds(5));
}

void Child::end() {
  if (ended_) {
    return;
  }
  ended_ = true;
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
  }
  kill_family();
  if (!reaped_) {
    while (::waitpid(pid_, &raw_status_, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
  }
}

Result Child::result() const {
  Result result;
  result.signaled = WIFSIGNALED(raw_status_);
  result.status = result.signaled ? 128 + WTERMSIG(raw_status_) : WEXITSTATUS(raw_status_);
  return result;
}

}  // namespace rlock::test
