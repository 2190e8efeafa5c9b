// rlock in crontabs of hosts whose clocks differ.
// Labels: long
#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/time.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/host_clock.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

using Micros = long long;

const std::string k_scripts = std::string(RLOCK_SOURCE_DIR) + "/tests/cli/exec/cron_night";

Micros true_time() {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  return now.tv_sec * 1'000'000LL + now.tv_usec;
}

// --- the night -----------------------------------------------------------------------------------

constexpr Micros k_period = 500'000;
// With a sanitizer a start of rlock takes half a second of a processor.
const int k_slots = is_sanitized() ? 12 : 36;
constexpr Micros k_offsets[] = {-100'000, 0, 100'000};
constexpr Micros k_skew = 200'000;  // between any two
// Longer than the skew, shorter than the period without it.
constexpr Micros k_at_least = 290'000;
constexpr Micros k_lease = 5'000'000;
constexpr Micros k_tick = 3'000;  // of the clocks: the server counts milliseconds

struct Run {
  int host;
  Micros launched;  // rlock was started then, or later
  Micros started;   // the job had started then
  Micros done = 0;  // with its work; then it ended, or somebody was killed
  bool killed_rlock = false;
};

struct Attempt {
  int slot;
  int host;
  Micros launched;
  Micros ended;  // rlock had ended then
  int status;
};

// What the hosts have written down of one line of their crontab.
struct Line {
  std::vector<Attempt> attempts;
  std::map<int, std::vector<Run>> runs;  // by slot
};

struct Night {
  Micros begin = 0;  // slot 0, by a clock that is right
  std::map<std::string, Line> lines;
  int overlaps = 0;
  std::string said;  // by rlock, and by the jobs
};

// How the night is to be, by the seed: for each slot of a line the hosts that are up, how long the
// job takes, and how it ends.
void write_plan(const std::string& folder, unsigned seed) {
  ::mkdir(folder.c_str(), 0700);
  std::mt19937 random(seed);
  const auto one_of = [&](const auto&... choice) {
    const std::string choices[] = {choice...};
    return choices[random() % sizeof...(choice)];
  };
  for (const std::string line : {"slots", "one"}) {
    std::vector<std::string> ends;
    for (int i = 0; i < k_slots; ++i) {
      // The lock of a killed rlock stays for its lease: that costs the one lock several slots.
      const bool is_costly = line == "one" && i != 7 && i != 22;
      ends.push_back(is_costly   ? one_of("itself", "itself", "term", "kill_job")
                     : i % 4 < 3 ? one_of("term", "kill_job", "kill_rlock")
                                 : "itself");
    }
    std::shuffle(ends.begin(), ends.end(), random);
    for (int i = 0; i < k_slots; ++i) {
      const auto hosts = random() % 3 == 0 ? 1 + random() % 7 : 7;
      std::ofstream(folder + "/" + line + "." + std::to_string(i))
          << hosts << ' ' << one_of("0", "0", "250000", "1250000") << ' '
          << ends[static_cast<std::size_t>(i)] << '\n';
    }
  }
}

Night read_log(const std::string& folder) {
  Night night;
  std::ifstream log(folder + "/log");
  for (std::string text; std::getline(log, text);) {
    std::istringstream words(text);
    std::string what, line;
    int slot = 0, host = 0, status = 0;
    Micros begin = 0, end = 0;
    words >> what;
    if (what == "overlap") {
      ++night.overlaps;
      continue;
    }
    words >> line >> slot >> host >> begin;
    if (what == "attempt") {
      words >> end >> status;
      night.lines[line].attempts.push_back({slot, host, begin, end, status});
    } else if (what == "start") {
      words >> end;
      night.lines[line].runs[slot].push_back({host, begin, end});
    } else {
      REQUIRE(what == "end");
      std::string fate;
      words >> fate;
      for (Run& run : night.lines[line].runs[slot]) {
        if (run.host != host) continue;
        run.done = begin;
        run.killed_rlock = fate == "kill_rlock";
      }
    }
    REQUIRE(words);
  }
  std::ifstream said(folder + "/said");
  night.said = std::string(std::istreambuf_iterator<char>(said), {});
  return night;
}

// Lets three hosts live through a night. Each has two lines in its crontab: one with a lock for
// each slot, and one with a lock for the job.
Night night(const Server& server, unsigned seed) {
  const std::string folder = server.directory() + "/night";
  ::mkdir(folder.c_str(), 0700);
  write_plan(folder + "/plan", seed);
  const Micros begin = true_time() + 1'500'000;
  std::deque<Process> hosts;
  for (std::size_t i = 0; i < std::size(k_offsets); ++i) {
    const HostClock clock(server.directory() + "/clock." + std::to_string(i));
    clock.set(std::chrono::microseconds(k_offsets[i]));
    ProcessOptions options{.env = clock.environment()};
    options.env["RLOCK_REDIS"] = server.unix_url();
    options.env["NIGHT"] = folder;
    options.env["RLOCK"] = rlock_program();
    options.env["HOST"] = std::to_string(i);
    options.env["OFFSET"] = std::to_string(k_offsets[i]);
    options.env["PERIOD"] = std::to_string(k_period);
    options.env["BEGIN"] = std::to_string(begin);
    options.env["SLOTS"] = std::to_string(k_slots);
    // Their leases outlast the night, too: a killed rlock keeps its slot.
    options.env["SLOTS_OPTIONS"] = "--at-least 10m --lease 10m --kill-after 300ms";
    options.env["ONE_OPTIONS"] = "--at-least " + std::to_string(k_at_least / 1000) +
                                 "ms --kill-after 300ms --lease " + std::to_string(k_lease / 1000) +
                                 "ms";
    options.env["LC_ALL"] = "C";
    hosts.emplace_back(Words{k_scripts + "/host.bash"}, options);
  }
  for (Process& host : hosts) CHECK(host.wait(std::chrono::minutes(5)).status == 0);
  Night result = read_log(folder);
  result.begin = begin;
  return result;
}

const Attempt* attempt_of(const Line& line, int slot, int host) {
  for (const Attempt& attempt : line.attempts) {
    if (attempt.slot == slot && attempt.host == host) return &attempt;
  }
  return nullptr;
}

bool has_run(const Line& line, const Attempt& attempt) {
  const auto runs = line.runs.find(attempt.slot);
  return runs != line.runs.end() &&
         std::any_of(runs->second.begin(), runs->second.end(),
                     [&](const Run& run) { return run.host == attempt.host; });
}

// Returns when the lock of the job's run in `slot` was free again at the latest.
Micros free_after(const Line& line, int slot, const Run& run) {
  const Attempt* attempt = attempt_of(line, slot, run.host);
  REQUIRE(attempt != nullptr);
  if (run.killed_rlock) return attempt->ended + k_lease + k_tick;
  // What rlock keeps is counted when the job has ended, and begins when the server hears of it.
  const Micros kept = run.started + k_at_least + (attempt->ended - run.done);
  return std::max(attempt->ended, kept) + k_tick;
}

// Cron mails every byte: only where an rlock was killed there is something to tell.
void check_mails(Night& night) {
  std::istringstream said(night.said);
  for (std::string text; std::getline(said, text);) {
    CAPTURE(text);
    CHECK(has(text, "which has ended without giving it back"));
    const std::size_t at = text.find("slot-");
    if (at == std::string::npos) continue;  // of the other line
    const auto& runs = night.lines["slots"].runs[std::stoi(text.substr(at + 5))];
    CHECK(std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.killed_rlock; }));
  }
}

}  // namespace

TEST_CASE("cron: three hosts whose clocks differ, and every slot runs exactly once") {
  const char* given = std::getenv("RLOCK_TEST_SEED");
  const unsigned seed = given == nullptr ? 6 : static_cast<unsigned>(std::atoi(given));
  CAPTURE(seed);
  Server server;
  Night night = ::night(server, seed);
  check_mails(night);
  const Line& slots = night.lines["slots"];
  Line& one = night.lines["one"];
  CHECK(slots.attempts.size() + one.attempts.size() > 4U * static_cast<unsigned>(k_slots));
  for (const Line* line : std::initializer_list<const Line*>{&slots, &one}) {
    for (const Attempt& attempt : line->attempts) {
      CAPTURE(attempt.slot);
      CHECK((attempt.status == 0 || attempt.status == 128 + SIGTERM ||
             attempt.status == 128 + SIGKILL));
    }
  }

  // A lock for each slot: no judgement of time at all.
  CHECK(slots.runs.size() == static_cast<std::size_t>(k_slots));
  for (const auto& [slot, runs] : slots.runs) {
    CAPTURE(slot);
    CHECK(runs.size() == 1);
  }

  // One lock for the job. A slow machine may start anything late, so what is judged is what rlock
  // has promised by the times that were taken around it.
  CHECK(night.overlaps == 0);
  std::vector<Run> all;
  for (auto& [slot, runs] : one.runs) all.insert(all.end(), runs.begin(), runs.end());
  CHECK(all.size() >= 2);
  const auto is_before = [](const Run& a, const Run& b) { return a.started < b.started; };
  std::sort(all.begin(), all.end(), is_before);
  for (std::size_t i = 1; i < all.size(); ++i) {
    CHECK(all[i].started >= all[i - 1].launched + k_at_least - k_tick);
  }
  // So no slot runs twice, unless a host comes to it too late for any crontab.
  for (auto& [slot, runs] : one.runs) {
    CAPTURE(slot);
    std::sort(runs.begin(), runs.end(), is_before);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const Micros late =
          runs[i].started - (night.begin + slot * k_period - k_offsets[runs[i].host]);
      CAPTURE(late);
      CHECK(late >= k_at_least - k_skew - k_tick);
      MESSAGE("a slot that a host came to " << late << " us too late does not count");
    }
  }
  // And none is skipped but while a run goes on, or the lease of one that was killed.
  for (const Attempt& attempt : one.attempts) {
    if (has_run(one, attempt)) continue;
    CAPTURE(attempt.slot);
    bool was_held = false;
    for (const auto& [slot, runs] : one.runs) {
      for (const Run& run : runs) {
        was_held = was_held || (run.launched <= attempt.ended &&
                                attempt.launched <= free_after(one, slot, run));
      }
    }
    CHECK(was_held);
  }
  const auto attempts = slots.attempts.size() + one.attempts.size();
  MESSAGE(attempts << " attempts, " << slots.runs.size() << " and " << all.size() << " runs of "
                   << k_slots << " slots");
}

TEST_CASE("cron: leases, renewals, --at-least and waits do not depend on the host's clock") {
  Server server;
  const HostClock clock(server.directory() + "/clock");
  ProcessOptions options{.env = clock.environment(), .stdin_text = "", .hold_stdin = true};
  options.env["RLOCK_REDIS"] = server.unix_url();
  for (const long long shift : {-3, 3}) {
    CAPTURE(shift);
    clock.set(std::chrono::seconds(shift));
    const Micros before = true_time();
    Process holder(
        rlock_argv("exec", "--lease", "6s", "job", "--", "sh", "-c", "date +%s; read x; date +%s"),
        options);
    holder.wait_for_stdout("\n");
    CHECK(std::stoll(holder.out()) >= before / 1'000'000 + shift);
    CHECK(std::stoll(holder.out()) <= true_time() / 1'000'000 + shift);
    for (int i = 0; i < 2; ++i) {
      wait_for_renewal(server);
      CHECK(pttl(server) <= 6000);
    }
    const double start = uptime();
    CHECK(run(rlock_argv("exec", "-q", "-w", "300ms", "job", "--", "true"), options).status == 75);
    CHECK(uptime() - start >= 0.28);

    // It jumps, while one holds the lock and another waits for it.
    Process waiter(rlock_argv("exec", "-w", "10m", "job", "--", "echo", "got"), options);
    CHECK(comes_to_wait(server));
    clock.set(std::chrono::seconds(shift + 7200));
    for (int i = 0; i < 2; ++i) wait_for_renewal(server);
    CHECK(pttl(server) <= 6000);
    CHECK(waiter.running());
    holder.write_stdin("go\n");
    const Result held = holder.wait();
    CHECK(held.status == 0);
    CHECK(held.err.empty());
    const long long late = std::stoll(held.out.substr(held.out.find('\n')));
    CHECK(late - before / 1'000'000 >= shift + 7200);
    const Result waited = waiter.wait();
    CHECK(waited.out == "got\n");
    CHECK(waited.err.empty());

    CHECK(run(rlock_argv("exec", "--at-least", "1h", "job", "--", "true"), options).status == 0);
    CHECK(pttl(server) <= 3'600'000);
    CHECK(pttl(server) > 3'500'000);
    server.command({"FLUSHALL"});
  }
}
