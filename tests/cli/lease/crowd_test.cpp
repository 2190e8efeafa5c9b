// S7 on a machine with very many processes, among which those of a command have to be found.
// Labels: long unsanitized alone
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
#include "cli/lease/guardians.hpp"
#include "cli/lease/tracing.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/words.hpp"

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

// A command with a daemon, both deaf to SIGTERM, that show that they live.
struct Job {
  Server server;
  std::string log = server.directory() + "/beats";
  std::string mark = "crowd-" + server.directory();
  std::string beat = "sh " + write_beat_script(server);
  Process rlock;

  Job(const std::string& lease, const std::string& kill_after)
      : rlock(rlock_argv("exec", "-q", "-r", server.unix_url(), "--lease", lease, "--kill-after",
                         kill_after, "job", "--", "sh", "-c",
                         "(setsid " + beat + " daemon deaf &); exec " + beat + " main deaf"),
              {.env = {{"LOG", log}, {"MARK", mark}}}) {
    REQUIRE(wait_until([&] {
      const std::string text = beats();
      return has(text, "daemon ") && has(text, "main ");
    }));
  }
  [[nodiscard]] std::string beats() const {
    std::ifstream file(log);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  }
  // Until when, on the clock of uptime(), the server holds the key at most.
  [[nodiscard]] double lease_end() const {
    return uptime() + static_cast<double>(pttl(server)) / 1000 + 0.01;
  }
  // Waits until at most rlock is left. Returns when one of the others lived last.
  [[nodiscard]] double last_beat() const {
    CHECK(wait_until([&] {
      const auto alive = processes_with(mark);
      return std::all_of(alive.begin(), alive.end(), [&](pid_t pid) { return pid == rlock.pid(); });
    }));
    double last = 0;
    std::istringstream text(beats());
    std::string name;
    for (double when = 0; text >> name >> when;) last = std::max(last, when);
    return last;
  }
};

}  // namespace

// The guardian measured its searches before the machine became so slow.
TEST_CASE("S7: a search that has become slow when rlock is killed does not outlast the lease" *
          doctest::test_suite("S7")) {
  if (!can_trace()) return;
  Job job("9s", "3s");
  // Each search reads the list of all processes, in two calls.
  const auto strace =
      hampered(wait_for_guardian_of(job.rlock.pid()), "getdents64:delay_enter=1200000");
  wait_for_renewal(job.server);
  job.rlock.signal(SIGKILL);
  const double lease_end = job.lease_end();
  CHECK(job.last_beat() < lease_end);
}

TEST_CASE("S7: among thousands of processes, those of a command are found before its lease ends" *
          doctest::test_suite("S7")) {
  const Crowd crowd;
  if (crowd.is_refused()) {
    MESSAGE("skipped: no " << k_processes << " processes to be had");
    return;
  }
  Job job("6s", "100ms");
  wait_for_renewal(job.server);
  wait_for_renewal(job.server);
  bool kills = false;
  SUBCASE("rlock is killed") { kills = true; }
  SUBCASE("rlock is stopped") {}

  job.rlock.signal(kills ? SIGKILL : SIGSTOP);
  const double lease_end = job.lease_end();
  CHECK(job.last_beat() < lease_end);
}
