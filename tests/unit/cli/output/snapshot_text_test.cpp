#include "cli/output/snapshot_text.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "base/text_width.hpp"
#include "support/words.hpp"

using rlock::cli::Detail;
using rlock::cli::Hint;
using rlock::cli::ProblemText;
using rlock::lock::About;
using rlock::lock::Holder;
using rlock::lock::Kind;
using rlock::lock::Snapshot;
using rlock::lock::Waiter;
using rlock::test::has;

namespace {

using Problems = std::vector<ProblemText>;

// A snapshot without problems.
std::string to_text(const Snapshot& snapshot, std::optional<std::size_t> room, Detail detail) {
  return rlock::cli::to_text(snapshot, {}, room, detail);
}

const std::string k_uuid = "8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a";

Snapshot fair_lock() {
  Snapshot snapshot;
  snapshot.name = "deploy/web";
  snapshot.listening = 0;
  snapshot.time_ms = 1'000'000;
  snapshot.held = true;
  snapshot.kind = Kind::fair;
  snapshot.ttl_ms = 28'000;
  Holder& holder = snapshot.holders.emplace_back();
  holder.owner = k_uuid + "1:4711";
  holder.about = About{"web7", 4711, "ann", "backup.sh"};
  holder.since_ms = 920'000;
  Waiter& ours = snapshot.waiters.emplace_back();
  ours.owner = k_uuid + "2:12";
  ours.about = About{"web12.example.org", 12, "deploy", "rsync"};
  ours.since_ms = 995'000;
  ours.deadline_ms = 1'012'000;
  ours.alive = true;
  Waiter& foreign = snapshot.waiters.emplace_back();
  foreign.owner = k_uuid + "3:77";
  foreign.deadline_ms = 997'000;
  foreign.alive = false;
  snapshot.waiters.emplace_back().owner = k_uuid + "4:78";
  snapshot.hash = {{k_uuid + "1:4711", "1"}};
  snapshot.queue = {k_uuid + "2:12", k_uuid + "3:77", k_uuid + "4:78"};
  snapshot.scores = {{k_uuid + "3:77", 997'000}, {k_uuid + "2:12", 1'012'000.5}};
  return snapshot;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    widest = std::max(widest, rlock::display_width(text.substr(start, end - start)));
  }
  return widest;
}

}  // namespace

TEST_CASE("a semaphore may have fewer permits than none") {
  CHECK(rlock::cli::describe_permits({3, 2, std::nullopt, {}}) == "2 of 3 permits available");
  CHECK(rlock::cli::describe_permits({1, 1, std::nullopt, {}}) == "1 of 1 permit available");
  CHECK(rlock::cli::describe_permits({-2, -3, std::nullopt, {}}) == "-3 of -2 permits available");
}

TEST_CASE("who listens is told, or that nobody knows") {
  Snapshot snapshot;
  snapshot.name = "job";
  snapshot.listening = 1;
  CHECK(to_text(snapshot, std::nullopt, Detail::people) ==
        "job: free\n\n1 listener: waiting without a queue, or watching\n");
  snapshot.listening = std::nullopt;
  CHECK(
      to_text(snapshot, std::nullopt, Detail::people) ==
      "job: free\n\nwaiters without a queue are unknown: this user is not allowed to run PUBSUB\n");
}

TEST_CASE("a free lock is one line") {
  Snapshot snapshot;
  snapshot.name = "job";
  snapshot.listening = 0;
  CHECK(to_text(snapshot, std::nullopt, Detail::people) == "job: free\n");
  CHECK(to_text(snapshot, 80, Detail::raw) == "job: free\n");
}

TEST_CASE("holders and waiters are tables, the owner last") {
  CHECK(to_text(fair_lock(), std::nullopt, Detail::people) ==
        "deploy/web: held (fair), expires in 28s\n"
        "\n"
        "1 holder\n"
        "HOST   PID  PROGRAM    USER  COUNT  HELD FOR  OWNER\n"
        "web7  4711  backup.sh  ann       1     1m20s  8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a1:4711\n"
        "\n"
        "3 waiters, 1 of them dead, 1 of them perhaps dead\n"
        "#  HOST               PID  PROGRAM  USER    WAITING  DEADLINE       STATE  OWNER\n"
        "1  web12.example.org   12  rsync    deploy       5s  in 12s         alive  "
        "8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a2:12\n"
        "2  -                    -  -        -             -  passed 3s ago  dead   "
        "8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a3:77\n"
        "3  -                    -  -        -             -  none           ?      "
        "8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a4:78\n");
}

TEST_CASE("a note has a column where somebody has one, and is cut where it is long") {
  Snapshot snapshot = fair_lock();
  snapshot.waiters.clear();
  snapshot.holders[0].about.note = "migration, see ticket 4711; call Ann before you break this";
  CHECK(to_text(snapshot, 80, Detail::people) ==
        "deploy/web: held (fair), expires in 28s\n"
        "\n"
        "1 holder\n"
        "HOST   PID  PROGRAM    USER  NOTE                                COUNT  HELD FOR\n"
        "web7  4711  backup.sh  ann   migration, see ticket 4711; call …      1     1m20s\n"
        "    owner 8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a1:4711\n");
  CHECK(has(to_text(snapshot, std::nullopt, Detail::people), "before you break this"));
}

TEST_CASE("on a narrow terminal each owner has a line of its own, whole") {
  const std::string text = to_text(fair_lock(), 80, Detail::people);
  CHECK(text ==
        "deploy/web: held (fair), expires in 28s\n"
        "\n"
        "1 holder\n"
        "HOST   PID  PROGRAM    USER  COUNT  HELD FOR\n"
        "web7  4711  backup.sh  ann       1     1m20s\n"
        "    owner 8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a1:4711\n"
        "\n"
        "3 waiters, 1 of them dead, 1 of them perhaps dead\n"
        "#  HOST               PID  PROGRAM  USER    WAITING  DEADLINE       STATE\n"
        "1  web12.example.org   12  rsync    deploy       5s  in 12s         alive\n"
        "    owner 8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a2:12\n"
        "2  -                    -  -        -             -  passed 3s ago  dead\n"
        "    owner 8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a3:77\n"
        "3  -                    -  -        -             -  none           ?\n"
        "    owner 8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a4:78\n");
}

TEST_CASE("a wide terminal shows what a pipe gets") {
  CHECK(to_text(fair_lock(), 200, Detail::raw) == to_text(fair_lock(), std::nullopt, Detail::raw));
}

TEST_CASE("what is known of nobody has no column, so that Redisson's queues fit in 80") {
  Snapshot snapshot = fair_lock();
  snapshot.holders[0].about = {};
  snapshot.holders[0].since_ms.reset();
  snapshot.waiters.erase(snapshot.waiters.begin());
  CHECK(to_text(snapshot, 80, Detail::people) ==
        "deploy/web: held (fair), expires in 28s\n"
        "\n"
        "1 holder\n"
        "COUNT  OWNER\n"
        "    1  8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a1:4711\n"
        "\n"
        "2 waiters, 1 of them dead, 1 of them perhaps dead\n"
        "#  DEADLINE       STATE  OWNER\n"
        "1  passed 3s ago  dead   8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a3:77\n"
        "2  none           ?      8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a4:78\n");
  snapshot.waiters[1].alive = false;
  CHECK(has(to_text(snapshot, 80, Detail::people), "\n2 waiters, all dead\n"));
  for (auto& waiter : snapshot.waiters) waiter.alive.reset();
  CHECK(has(to_text(snapshot, 80, Detail::people), "\n2 waiters, all perhaps dead\n"));
  snapshot.waiters.pop_back();
  CHECK(has(to_text(snapshot, 80, Detail::people), "\n1 waiter, perhaps dead\n"));
  snapshot.waiters[0].alive = false;
  CHECK(has(to_text(snapshot, 80, Detail::people), "\n1 waiter, dead\n"));
}

TEST_CASE("readers and writers have a mode") {
  Snapshot snapshot;
  snapshot.name = "job";
  snapshot.listening = 0;
  snapshot.held = true;
  snapshot.kind = Kind::read;
  snapshot.ttl_ms = -1;
  snapshot.holders.resize(2);
  snapshot.holders[0].owner = "a:1";
  snapshot.holders[0].mode = Holder::Mode::read;
  snapshot.holders[0].count = 3;
  snapshot.holders[1].owner = "a:1:write";
  snapshot.holders[1].mode = Holder::Mode::write;
  snapshot.token = 77;
  CHECK(to_text(snapshot, 80, Detail::people) ==
        "job: held (read-write), without an expiry\n"
        "\n"
        "2 holders\n"
        "MODE   COUNT  OWNER\n"
        "read       3  a:1\n"
        "write      1  a:1:write\n"
        "\n"
        "fencing token 77\n");
}

TEST_CASE("problems come with a hint, and are broken between words on a terminal") {
  Snapshot snapshot;
  snapshot.name = "job";
  snapshot.listening = 0;
  const Problems problems = {{"the first waiter, " + k_uuid + "1:1, is dead",
                              {Hint::Kind::advice, "do this"},
                              "dead_head"},
                             {"x", {Hint::Kind::advice, "y"}, "other"}};
  CHECK(to_text(snapshot, problems, std::nullopt, Detail::people) ==
        "job: free\n"
        "\n"
        "2 problems\n"
        "  dead_head: the first waiter, 8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a1:1, is dead\n"
        "    hint: do this\n"
        "  other: x\n"
        "    hint: y\n");
  CHECK(to_text(snapshot, problems, 50, Detail::people) ==
        "job: free\n"
        "\n"
        "2 problems\n"
        "  dead_head: the first waiter,\n"
        "  8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a1:1, is dead\n"
        "    hint: do this\n"
        "  other: x\n"
        "    hint: y\n");
}

TEST_CASE("a command that mends is never broken, so that it can be pasted") {
  Snapshot snapshot;
  snapshot.name = "job";
  snapshot.listening = 0;
  const std::string command = "rlock evict job " + k_uuid + "1:1  # if it is dead";
  const Problems problems = {{"x", {Hint::Kind::command, command}, "dead_head"}};
  CHECK(has(to_text(snapshot, problems, 30, Detail::people), "\n    hint: " + command + "\n"));
}

TEST_CASE("the raw keys are shown when asked for") {
  const std::string text = to_text(fair_lock(), std::nullopt, Detail::raw);
  CHECK(has(text,
            "\nraw\n"
            "  hash      8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a1:4711 = 1\n"
            "  queue     8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a2:12\n"));
  CHECK(has(text, "  deadline  8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a3:77 997000\n"));
}

TEST_CASE("no line is wider than the terminal, and the state is seen whatever the name") {
  Snapshot snapshot = fair_lock();
  snapshot.name = std::string(500, 'n');
  snapshot.waiters[0].about =
      About{std::string(300, 'h'), 1, std::string(300, 'u'), "日本語日本語"};
  snapshot.token = 7;
  const Problems problems = {
      {std::string(300, 'd') + " e", {Hint::Kind::advice, std::string(300, 'x')}, "code"}};
  for (const std::size_t room : {200U, 80U, 60U, 20U, 5U, 1U}) {
    CAPTURE(room);
    const std::string text = to_text(snapshot, problems, room, Detail::raw);
    CHECK(widest_line(text) <= room);
    if (room >= 60) CHECK(has(text, "…: held (fair), expires in 28s\n"));
  }
  CHECK(has(to_text(snapshot, problems, std::nullopt, Detail::raw), std::string(300, 'h')));
}

TEST_CASE("no text can touch the terminal") {
  const std::string evil = "a\x1b[2J\n\x9b\xff\u202e";
  Snapshot snapshot = fair_lock();
  snapshot.name = evil;
  snapshot.holders[0].owner = evil;
  snapshot.waiters[0].owner = evil;
  snapshot.waiters[0].about = About{evil, 1, evil, evil, evil};
  snapshot.hash = {{evil, evil}};
  snapshot.queue = {evil};
  snapshot.scores = {{evil, 1}};
  const Problems problems = {{evil, {Hint::Kind::advice, evil}, "code"}};
  for (const std::size_t room : {40U, 200U}) {
    for (const char c : to_text(snapshot, problems, room, Detail::raw)) {
      const auto byte = static_cast<unsigned char>(c);
      CHECK((c == '\n' || (byte >= 0x20 && byte != 0x7f)));
    }
  }
  const std::string text = to_text(snapshot, std::nullopt, Detail::raw);
  CHECK(text.starts_with("a\\x1b[2J\\n\\x9b\\xff\\xe2\\x80\\xae: held (fair)"));
  CHECK_FALSE(has(text, "\u202e"));
}
