// Redlock with servers that are killed, paused or cut off, at every step.
// Labels: longest
#include <csignal>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/servers/redlock_faults_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/quorum.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::redlock_faults;
using namespace std::chrono_literals;

namespace {

enum class Fault { killed, paused, cut_off, deaf, mute };
constexpr const char* k_names[] = {"killed", "paused", "cut off", "deaf", "mute"};

// What befalls which server.
using Faults = std::vector<std::pair<int, Fault>>;

const Faults k_minorities[] = {{{0, Fault::killed}, {3, Fault::paused}},
                               {{1, Fault::cut_off}, {4, Fault::deaf}},
                               {{2, Fault::mute}, {3, Fault::killed}}};
const Faults k_majorities[] = {{{0, Fault::killed}, {2, Fault::paused}, {4, Fault::deaf}},
                               {{1, Fault::cut_off}, {2, Fault::mute}, {3, Fault::paused}}};

std::string name_of(const Faults& faults) {
  std::string text;
  for (const auto& [server, fault] : faults) {
    text += std::to_string(server) + " " + k_names[static_cast<int>(fault)] + " ";
  }
  return text;
}

void strike(Quorum& quorum, int server, Fault fault) {
  switch (fault) {
    case Fault::killed:
      quorum[server].stop();
      break;
    case Fault::paused:
      quorum[server].pause();
      break;
    case Fault::cut_off:
      quorum.proxy(server).set_mode(Mode::refuse);
      break;
    case Fault::deaf:
      quorum.proxy(server).set_mode(Mode::blackhole);
      break;
    case Fault::mute:
      quorum.proxy(server).set_mode(Mode::swallow_replies);
      break;
  }
}

void heal(Quorum& quorum, int server, Fault fault) {
  if (fault == Fault::killed) quorum[server].start();
  if (fault == Fault::paused) quorum[server].resume();
  if (fault == Fault::mute) quorum.proxy(server).cut();
  quorum.proxy(server).set_mode(Mode::pass);
}

void strike(Quorum& quorum, const Faults& faults) {
  for (const auto& [server, fault] : faults) strike(quorum, server, fault);
}

void heal(Quorum& quorum, const Faults& faults) {
  for (const auto& [server, fault] : faults) heal(quorum, server, fault);
}

}  // namespace

TEST_CASE("Redlock: any two of five may fail before the lock is taken") {
  for (const Faults& faults : k_minorities) {
    CAPTURE(name_of(faults));
    Quorum quorum(5);
    strike(quorum, faults);
    const Result result =
        run(quorum.rlock("exec", {"--timeout", "3s", "job", "--", "echo", "ran"}));
    CHECK(result.status == 0);
    CHECK(result.out == "ran\n");
    CHECK(result.err.empty());
    heal(quorum, faults);
    CHECK(quorum.becomes_free_of("job"));
  }
}

TEST_CASE("Redlock: any two of five may fail while the command runs, and come back") {
  const int lease = 8;  // s; all three others have to answer in a tenth of it
  for (const Faults& faults : k_minorities) {
    CAPTURE(name_of(faults));
    Quorum quorum(5);
    Process holder(
        quorum.rlock("exec", with({"--lease", std::to_string(lease) + "s"}, k_until_told)),
        {.stdin_text = "", .hold_stdin = true});
    holder.wait_for_stdout("in");
    CHECK(wait_until([&] { return quorum.having("job") == 5; }));
    strike(quorum, faults);
    // The lease goes on: for longer than it is.
    const double start = uptime();
    CHECK(wait_until([&] { return uptime() > start + 1.5 * lease; }));
    CHECK(holder.running());
    heal(quorum, faults);
    CHECK(wait_until([&] { return quorum.having("job") == 5; }));
    holder.close_stdin();
    const Result result = holder.wait();
    CHECK(result.status == 0);
    CHECK(has(result.out, "out"));
    CHECK(quorum.becomes_free_of("job"));
  }
}

TEST_CASE("Redlock: any two of five may fail before the lock is released") {
  for (const Faults& faults : k_minorities) {
    CAPTURE(name_of(faults));
    Quorum quorum(5);
    Process holder(quorum.rlock("exec", with({"--timeout", "3s", "--lease", "8s"}, k_until_told)),
                   {.stdin_text = "", .hold_stdin = true});
    holder.wait_for_stdout("in");
    strike(quorum, faults);
    holder.close_stdin();
    const Result result = holder.wait();
    CHECK(result.status == 0);
    CHECK(has(result.out, "out"));
    CHECK(result.err.empty());
    heal(quorum, faults);
    CHECK(quorum.becomes_free_of("job"));  // at once, or when the lease ends
  }
}

TEST_CASE("Redlock: a release waits until a majority that is slow has answered") {
  Quorum quorum(3);
  Process holder(quorum.rlock("exec", k_until_told), {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("in");
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  for (int i = 0; i < 3; ++i) quorum.proxy(i).set_delay(700ms);
  holder.close_stdin();
  const Result result = holder.wait();
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: W3: what is under way to a slow server at the end leaves no lock there" *
          doctest::test_suite("W3")) {
  Quorum quorum(3);
  const auto left = [&] { return std::stol(quorum[0].command({"PTTL", "job"})); };
  quorum.proxy(0).set_delay(1s);
  std::vector<std::string> options{"--lease", "30s"};
  SUBCASE("a renewal") {}
  SUBCASE("the token that it makes known") { options.emplace_back("--fence"); }
  Process holder(quorum.rlock("exec", with(options, k_until_told)),
                 {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("in");
  if (options.back() == "--fence") {
    CHECK(wait_until([&] {
      return quorum[0].command({"EXISTS", "redisson_lock_token:{job}"}) == "1";
    }));
  } else {
    CHECK(wait_until([&] { return left() > 0 && left() < 25'000; }));
    CHECK(wait_until([&] { return left() > 25'000; }));
  }
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  CHECK(wait_until([&] { return left() == -2; }, 10s));
}

TEST_CASE(
    "Redlock: where nobody has a majority and a server is away, that is told, not a conflict") {
  Quorum quorum(3);
  quorum[0].command({"HSET", "job", k_foreign_owner, "1"});
  quorum[2].stop();
  for (const std::string wait : {"-n", "-w1s"}) {
    const Result result = run(quorum.rlock("exec", {wait, "-E", "0", "job", "--", "echo", "ran"}));
    CHECK(result.status == 69);
    CHECK(result.out.empty());
    CHECK(
        has(result.err,
            "job: no owner is known to have a majority of the 3 servers, and some of them fail: "));
    CHECK(is_one_message(result.err));
  }
}

TEST_CASE(
    "Redlock: a lock that is held is a conflict, also where a server is away and another slow") {
  Quorum quorum(3);
  Process holder(quorum.rlock("exec", k_until_told), {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("in");
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  quorum.proxy(0).set_mode(Mode::refuse);
  quorum.proxy(1).set_delay(30ms);
  for (int i = 0; i < 3; ++i) {
    CHECK(run(quorum.rlock("exec", {"-n", "job", "--", "echo", "ran"})).status == 75);
  }
  quorum.proxy(0).set_mode(Mode::pass);
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
}

TEST_CASE("Redlock: a release that no majority has answered is not told as done") {
  Quorum quorum(3);
  const Result taken = run(quorum.rlock("acquire", {"--no-watchdog", "--lease", "1h", "job"}));
  REQUIRE(taken.status == 0);
  const std::string owner = taken.out.substr(0, taken.out.find('\n'));
  for (int i = 0; i < 2; ++i) quorum[i].pause();
  const Result result = run(quorum.rlock("unlock", {"--timeout", "1s", "--owner", owner, "job"}));
  CHECK(result.status == 69);
  CHECK(has(result.err, "too few of the 3 servers answered, 2 are needed"));
  CHECK(is_one_message(result.err));
}

TEST_CASE("Redlock: without a majority nothing is taken, and nothing is left anywhere") {
  for (const Faults& faults : k_majorities) {
    CAPTURE(name_of(faults));
    Quorum quorum(5);
    strike(quorum, faults);
    const Result result =
        run(quorum.rlock("exec", {"--timeout", "3s", "job", "--", "echo", "ran"}));
    CHECK(result.status == 69);
    CHECK(result.out.empty());
    CHECK(has(result.err, "too few of the 5 servers answered, 3 are needed"));
    CHECK(is_one_message(result.err));
    heal(quorum, faults);
    CHECK(quorum.becomes_free_of("job"));
  }
}

TEST_CASE("Redlock: when a majority is lost, the command is dead before the lease ends") {
  for (const Faults& faults : {k_majorities[0]}) {
    CAPTURE(name_of(faults));
    Quorum quorum(5);
    const std::string log = quorum[1].directory() + "/beats";
    Process holder(quorum.rlock("exec", {"--lease", "9s", "job", "--", "sh",
                                         write_beat_script(quorum[1]), "main", "deaf"}),
                   {.env = {{"LOG", log}}});
    CHECK(wait_until([&] { return quorum.having("job") == 5; }));
    strike(quorum, faults);
    const Result result = holder.wait();
    CHECK(result.status == 79);
    CHECK(has(result.err, "lock lost"));
    // Those that could be asked still have it: no renewal of theirs counted, and the last that did
    // was earlier.
    double last = 0;
    std::ifstream beats(log);
    for (std::string line; std::getline(beats, line);) last = std::stod(line.substr(5));
    for (const int server : {1, 3}) {
      const long left = pttl(quorum[server]);
      if (left > 0) CHECK(last < uptime() + static_cast<double>(left) / 1000);
    }
    CHECK(last > 0);
    heal(quorum, faults);
    CHECK(quorum.becomes_free_of("job"));
  }
}

TEST_CASE("Redlock: the message of a loss counts each server that did not answer") {
  Quorum quorum(3);
  Process holder(quorum.rlock("exec", {"--lease", "3s", "job", "--", "sleep", "1000"}));
  REQUIRE(wait_until([&] { return quorum.having("job") == 3; }));
  quorum[0].pause();
  quorum[2].pause();
  const Result result = holder.wait();
  CHECK(result.status == 79);
  std::size_t named = 0;
  for (const int server : {0, 2}) {
    if (has(result.err, quorum.proxy(server).url())) ++named;
  }
  if (named < 2) {
    CHECK(has(result.err, std::to_string(2 - named) + " did not answer in time"));
  }
}

TEST_CASE("Redlock: two of five that forget the lock are given it again, three end the command") {
  Quorum quorum(5, Memory::lost);
  Process holder(quorum.rlock("exec", {"--restart-delay", "0", "--lease", "9s", "--fence", "job",
                                       "--", "sh", "-c", "echo $RLOCK_TOKEN; read x; echo out"}),
                 {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("\n");
  const std::string token = holder.out().substr(0, holder.out().find('\n'));
  CHECK(wait_until([&] { return quorum.having("job") == 5; }));
  const std::string owner = quorum[4].command({"HKEYS", "job"});
  for (const int server : {0, 1}) {
    quorum[server].stop();
    quorum[server].start();
  }
  for (const int server : {0, 1}) {
    CHECK(wait_until([&] { return quorum[server].command({"HKEYS", "job"}) == owner; }));
    CHECK(wait_until([&] {
      return quorum[server].command({"GET", "redisson_lock_token:{job}"}) == token;
    }));
  }
  CHECK(holder.running());
  // All three before the first is there again, which would soon have its vote back.
  for (const int server : {0, 1, 2}) quorum[server].stop();
  for (const int server : {0, 1, 2}) quorum[server].start();
  const Result result = holder.wait();
  CHECK(result.status == 79);
  CHECK_FALSE(has(result.out, "out"));
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: replies that are lost, of any request, count once") {
  for (const char* request : {"EVALSHA", "EVAL", ""}) {
    CAPTURE(request);
    Quorum quorum(3);
    CHECK(run(quorum.rlock("exec", {"warm", "--", "true"})).status == 0);
    quorum.proxy(0).cut_after_next_request(request);
    quorum.proxy(1).cut_after_next_request(request);
    const Result result = run(quorum.rlock("exec", {"job", "--", "echo", "ran"}));
    CHECK(result.status == 0);
    CHECK(result.out == "ran\n");
    CHECK(result.err.empty());
    CHECK(quorum.becomes_free_of("job"));
  }
}

TEST_CASE("Redlock: a token that a server could not be told is no lease that has ended") {
  Quorum quorum(3);
  quorum[2].command({"HSET", "job", k_foreign_owner, "1"});
  quorum[2].command({"PEXPIRE", "job", "60000"});
  // Of the requests, only that which raises the token has three keys.
  quorum.proxy(1).cut_after_next_request("\r\n$1\r\n3\r\n$3\r\njob\r\n", Mode::refuse);
  const Result result = run(quorum.rlock("exec", {"--fence", "job", "--", "echo", "ran"}));
  CHECK(quorum.proxy(1).cuts() == 1);
  CHECK(result.status == 69);
  CHECK(result.out.empty());
  CAPTURE(result.err);
  CHECK(has(result.err,
            "too few of the 3 servers answered, 2 are needed to make the fencing token "
            "known: "));
}

TEST_CASE("Redlock: kill -9 of rlock ends its command, and leaves the lock to its lease") {
  Quorum quorum(3);
  Process holder(quorum.rlock(
      "exec", {"--lease", "2s", "job", "--", "sh", "-c", "echo in $$; exec sleep 600"}));
  holder.wait_for_stdout("in ");
  const pid_t command = std::stoi(holder.out().substr(3));
  holder.signal(SIGKILL);
  CHECK(wait_until([&] { return !alive(command); }));
  CHECK(run(quorum.rlock("exec", {"job", "--", "true"})).status == 0);
}
