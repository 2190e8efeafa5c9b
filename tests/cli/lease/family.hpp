// Commands that start a family of processes, and what can happen to their lock.
#pragma once

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/contents.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

namespace rlock::test {

// The reply to CLIENT SETNAME, before all others.
inline const std::size_t k_name_reply = std::string_view("+OK\r\n").size();

// A command under `rlock exec` that starts a family: in its group, deaf to SIGTERM, and daemons in
// sessions of their own, one with an empty environment. Each member writes its name and the time to
// a log as often as it can, so that nobody can live unnoticed.
class Family {
 public:
  Family(const Server& server, const std::string& url, const std::vector<std::string>& options)
      : log_(server.directory() + "/beats"), mark_("family-" + server.directory()) {
    const std::string beat = write_beat_script(server);
    // A shell whose child is killed before itself says so on stderr, where only rlock is to speak.
    const std::string script = "exec 2>/dev/null; sh " + beat + " child & sh " + beat +
                               " deaf deaf & (setsid sh " + beat +
                               " daemon deaf &) ; (env -i LOG=\"$LOG\" setsid sh " + beat +
                               " bare deaf &) ; exec sh " + beat + " main";
    std::vector<std::string> argv =
        rlock_argv("exec", "-r", url, options, "job", "--", "sh", "-c", script);
    rlock_ =
        std::make_unique<Process>(argv, ProcessOptions{.env = {{"LOG", log_}, {"MARK", mark_}}});
    REQUIRE(wait_until([&] {
      const std::string text = log();
      for (const char* name : {"child ", "deaf ", "daemon ", "bare ", "main "}) {
        if (!has(text, name)) return false;
      }
      return true;
    }));
  }

  [[nodiscard]] Process& rlock() { return *rlock_; }
  [[nodiscard]] std::vector<pid_t> alive() const {
    std::vector<pid_t> found = processes_with(mark_);
    const std::vector<pid_t> bare = processes_with(log_);
    found.insert(found.end(), bare.begin(), bare.end());
    return found;
  }
  // When the last of the family was seen.
  [[nodiscard]] double last_beat() const {
    std::istringstream text(log());
    double last = 0;
    std::string name;
    double when = 0;
    while (text >> name >> when) last = std::max(last, when);
    return last;
  }

 private:
  [[nodiscard]] std::string log() const { return contents(log_); }

  std::string log_;
  std::string mark_;
  std::unique_ptr<Process> rlock_;
};

// Takes the server away with `cut` right after a renewal. Returns until when, on the clock of
// uptime(), the server holds the key at most: never too early, however slow this process is.
inline double cut_off(const Server& server, double lease, const std::function<void()>& cut) {
  wait_for_renewal(server);
  const double before = uptime();
  const double left = static_cast<double>(pttl(server)) / 1000;
  const double asked = uptime();
  cut();
  const double after = uptime();
  // Between two renewals lies a third of the lease: here no other came before the cut.
  const bool in_time = left > lease * 5 / 6 && after - before < lease / 6;
  return (in_time ? asked + left : after + lease) + 0.01;
}

inline std::string go_file(const Server& server) { return server.directory() + "/go"; }

inline void say_go(const Server& server) { std::ofstream(go_file(server)) << "go"; }

// A command that runs until say_go(), and then ends with this status.
inline std::string until_go(const Server& server, int status) {
  return "echo started; while [ ! -e " + go_file(server) + " ]; do sleep 0.1; done; exit " +
         std::to_string(status);
}

inline void steal(const Server& server, const std::string& name = "job") {
  server.command({"DEL", name});
  server.command({"HSET", name, k_thief, "1"});
  server.command({"PEXPIRE", name, "600000"});
}

// Where a reply was lost, a latch that ends by itself may stay.
inline bool released(const Server& server) {
  return wait_until([&] { return server.command({"EXISTS", "job", "rlock_info:{job}"}) == "0"; });
}

inline bool only_the_thief_is_left(const Server& server) {
  const auto ours = [](const std::string& key) {
    return key != "job" && key != "rlock_info:{job}";  // the latter ends by itself
  };
  return wait_until([&] {
           const auto keys = server.keys();
           return std::none_of(keys.begin(), keys.end(), ours);
         }) &&
         server.command({"HGETALL", "job"}) == k_thief + "\n1" && pttl(server) > 300'000;
}

}  // namespace rlock::test
