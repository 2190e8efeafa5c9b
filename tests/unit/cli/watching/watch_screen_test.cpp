// The layout of the screen of `rlock watch`.
#include "cli/watching/watch_screen.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "base/text_width.hpp"
#include "support/words.hpp"

using namespace rlock;
using namespace rlock::cli;
using test::has;

namespace {

using Sizes = std::vector<std::size_t>;

constexpr std::int64_t k_now = 1'795'276'676'000;  // 15:57:56 UTC
const std::vector<ProblemText> k_none;

// A fair lock with so many waiters, for another 30 s.
lock::Snapshot fair_lock(std::size_t waiters) {
  lock::Snapshot snapshot;
  snapshot.name = "job";
  snapshot.listening = 0;
  snapshot.time_ms = k_now;
  snapshot.held = true;
  snapshot.kind = lock::Kind::fair;
  snapshot.ttl_ms = 30'000;
  lock::Holder holder;
  holder.owner = "u:1";
  holder.about.host = "web1";
  holder.about.pid = 42;
  holder.about.user = "ann";
  holder.about.command = "backup";
  holder.since_ms = k_now - 200'000;
  holder.count = 2;
  snapshot.holders.push_back(holder);
  for (std::size_t i = 0; i < waiters; ++i) {
    lock::Waiter waiter;
    waiter.owner = "w:" + std::to_string(i + 1);
    waiter.deadline_ms = k_now + 45'000;
    snapshot.waiters.push_back(waiter);
  }
  return snapshot;
}

bool any(const std::vector<std::string>& lines, std::string_view part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return has(line, part); });
}

}  // namespace

TEST_CASE("rows go to those who want few, then equally to the others") {
  CHECK(share_rows(10, {1, 2, 100}) == Sizes{1, 2, 7});
  CHECK(share_rows(10, {100, 2, 100}) == Sizes{4, 2, 4});
  CHECK(share_rows(2, {1, 1, 1}) == Sizes{1, 1, 0});
  CHECK(share_rows(0, {3}) == Sizes{0});
  CHECK(share_rows(9, {}) == Sizes{});
}

TEST_CASE("a lock's lines tell all, and sum up what does not fit") {
  const lock::Snapshot snapshot = fair_lock(100);
  const LockView view(snapshot, k_none, Milliseconds(1000));
  CHECK(view.title(80) == "job  held (fair), expires in 29s, 100 waiting");
  CHECK(view.detail_rows() == 101);
  const auto lines = view.details(5);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "  holder    web1 pid 42 (backup) as ann, for 3m21s, count 2, owner u:1");
  CHECK(lines[1] == "  waiter 1  w:1, may be dead, deadline in 44s");
  CHECK(lines[4] == "  ... and 97 more waiting");
  CHECK(view.details(1).size() == 1);
  CHECK(view.details(0).empty());
  CHECK(view.details(2)[1] == "  ... 100 waiting");
  CHECK(view.details(200).back() == "  waiter 100  w:100, may be dead, deadline in 44s");
}

TEST_CASE("a countdown ends at 0, and a long name leaves room for the state") {
  lock::Snapshot snapshot = fair_lock(0);
  CHECK(LockView(snapshot, k_none, Milliseconds(60'000)).title(80) ==
        "job  held (fair), expires in 0s");
  snapshot.ttl_ms = -1;
  CHECK(LockView(snapshot, k_none, Milliseconds(0)).title(80) ==
        "job  held (fair), without an expiry");
  snapshot.name = std::string(1000, 'x');
  CHECK(LockView(snapshot, k_none, Milliseconds(0)).title(50) ==
        std::string(17, 'x') + "…  held (fair), without an expiry");
}

TEST_CASE("a frame has exactly the terminal's size, whatever that is") {
  const TimePoint now = BootClock::now();
  WatchScreen screen({"a", "b", "c"}, "unix:///s", "");
  for (std::size_t i = 0; i < 3; ++i) {
    screen.show({i, std::make_shared<lock::Snapshot>(fair_lock(i * 20)), {}, now, {}, {}});
  }
  for (int i = 0; i < 50; ++i) screen.add_event(k_now, "held by 日本 pid 1 (日本語)");
  for (const std::size_t rows : {1U, 2U, 3U, 4U, 5U, 10U, 24U, 50U, 300U}) {
    for (const std::size_t columns : {1U, 2U, 10U, 20U, 80U, 200U}) {
      CAPTURE(rows);
      CAPTURE(columns);
      const auto lines = screen.lines({columns, rows}, now);
      REQUIRE(lines.size() == rows);
      for (const std::string& line : lines) CHECK(display_width(line) <= columns);
      if (columns == 80) CHECK(lines.back() == "15:57:56Z  connected to unix:///s");
      if (columns == 80 && rows >= 4) CHECK(any(lines, "job  held (fair)"));
      if (columns == 80 && rows == 3) CHECK(lines[1] == "... and 2 more locks");
      if (columns == 80 && rows >= 10) CHECK(any(lines, "  15:57:56Z  held by"));
    }
  }
}

TEST_CASE("the last line says how long the server has been away, and why") {
  const TimePoint now = BootClock::now();
  WatchScreen screen({"a"}, "unix:///s", "");
  screen.show({0, std::make_shared<lock::Snapshot>(fair_lock(0)), {}, now, {}, {}});
  screen.set_away(now, "no answer");
  CHECK(screen.lines({80, 5}, after(now, Milliseconds(12'700))).back() ==
        "15:58:08Z  server away for 12s: no answer");
  screen.set_back();
  CHECK(screen.lines({80, 5}, now).back() == "15:57:56Z  connected to unix:///s");
}
