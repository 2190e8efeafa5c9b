// S7 on a machine with very many processes, among which those of a command have to be found.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"

using namespace rlock::test;

namespace {

constexpr int k_processes = 6000;

// Processes that do nothing, in a group of their own.
class Crowd {
 public:
  Crowd() {
    leader_ = ::fork();
    if (leader_ == 0) {
      ::setpgid(0, 0);
      for (int i = 0; i < k_processes; ++i) {
        const pid_t child = ::fork();
        if (child == 0) break;
        if (child < 0) ::_exit(1);
      }
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // of each: it ends with the one that started it
      while (true) ::pause();
    }
    ::setpgid(leader_, leader_);
    REQUIRE(wait_until([&] {
      is_refused_ = ::waitpid(leader_, nullptr, WNOHANG) == leader_;
      return is_refused_ || size() >= k_processes;
    }));
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    ::kill(-leader_, SIGKILL);
    if (!is_refused_) ::waitpid(leader_, nullptr, 0);
  }
  // Returns whether the system does not bear so many.
  [[nodiscard]] bool is_refused() const { return is_refused_; }

 private:
  [[nodiscard]] int size() const {
    std::string list;
    std::getline(std::ifstream("/proc/" + std::to_string(leader_) + "/task/" +
                               std::to_string(leader_) + "/children"),
                 list);
    return static_cast<int>(std::count(list.begin(), list.end(), ' '));
  }
  pid_t leader_;
  bool is_refused_ = false;
};

}  // namespace

TEST_CASE("S7: among thousands of processes, those of a command are found before its lease ends") {
  const Crowd crowd;
  if (crowd.is_refused()) {
    MESSAGE("skipped: no " << k_processes << " processes to be had");
    return;
  }
  Server server;
  const std::string log = server.directory() + "/beats";
  const std::string mark = "crowd-" + server.directory();
  const std::string beat = "sh " + write_beat_script(server);
  Process rlock(rlock_argv("exec", "-q", "-r", server.unix_url(), "--lease", "2s", "--kill-after",
                           "100ms", "job", "--", "sh", "-c",
                           "(setsid " + beat + " daemon deaf &); exec " + beat + " main deaf"),
                {.env = {{"LOG", log}, {"MARK", mark}}});
  const auto beats = [&] {
    std::ifstream file(log);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  REQUIRE(wait_until([&] {
    const std::string text = beats();
    return text.find("daemon ") != std::string::npos && text.find("main ") != std::string::npos;
  }));
  wait_for_renewal(server);
  wait_for_renewal(server);
  bool kills = false;
  SUBCASE("rlock is killed") { kills = true; }
  SUBCASE("rlock is stopped") {}

  rlock.signal(kills ? SIGKILL : SIGSTOP);
  const double lease_end = uptime() + static_cast<double>(pttl(server)) / 1000 + 0.01;
  CHECK(wait_until([&] {
    const auto alive = processes_with(mark);
    return std::all_of(alive.begin(), alive.end(), [&](pid_t pid) { return pid == rlock.pid(); });
  }));
  double last = 0;
  std::istringstream text(beats());
  std::string name;
  for (double when = 0; text >> name >> when;) last = std::max(last, when);
  CHECK(last < lease_end);
}
