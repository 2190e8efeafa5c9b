// Who is it? What holders and waiters tell of themselves, and what they keep to themselves.
// Labels: rights-fair
#include <array>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

std::string host_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

// Runs "exec" with these options until the object dies.
class Holder {
 public:
  Holder(const Server& server, std::vector<std::string> options)
      : process_(argv(server, std::move(options)),
                 {.env = {{"LOGNAME", "ann"}}, .hold_stdin = true}) {
    process_.wait_for_stdout("held");
  }
  Process& process() { return process_; }

 private:
  static std::vector<std::string> argv(const Server& server, std::vector<std::string> options) {
    std::vector<std::string> words = rlock_argv("exec", "-r", server.unix_url(), options);
    for (const char* word : {"job", "--", "sh", "-c", "echo held; cat"}) words.emplace_back(word);
    return words;
  }

  Process process_;
};

std::string inspect(const Server& server) {
  return run(rlock_argv("inspect-queue", "--json", "-r", server.unix_url(), "job")).out;
}

}  // namespace

TEST_CASE("a holder tells host, process, user and program, and a note") {
  Server server;
  Holder holder(server, {"--note", "ticket 4711"});
  const std::string json = inspect(server);
  CAPTURE(json);
  CHECK(has(json, "\"host\":\"" + host_name() + "\""));
  CHECK(has(json, "\"pid\":" + std::to_string(holder.process().pid())));
  CHECK(has(json, "\"user\":\"ann\",\"command\":\"sh\""));
  CHECK(has(json, "\"note\":\"ticket 4711\""));
}

TEST_CASE("--no-info stores nothing of a holder, nor shows it in CLIENT LIST") {
  Server server;
  SUBCASE("plain") {
    Holder holder(server, {"--no-info"});
    CHECK(server.command({"EXISTS", k_info}) == "0");
    const std::string owner = server.command({"HKEYS", "job"});
    CHECK_FALSE(owner.ends_with(":" + std::to_string(holder.process().pid())));
    CHECK_FALSE(has(server.command({"CLIENT", "LIST"}), "rlock:" + host_name() + ":"));
    CHECK(has(inspect(server), "\"host\":null"));
  }
  SUBCASE("plain, with a note") {
    Holder holder(server, {"--no-info", "--note", "ticket 4711"});
    const std::string info = server.command({"HVALS", k_info});
    CHECK(has(info, "ticket 4711"));
    CHECK_FALSE(has(info, host_name()));
    CHECK_FALSE(has(info, "ann"));
  }
  SUBCASE("fair: only that somebody holds it, and how") {
    Holder holder(server, {"--no-info", "--fair"});
    const std::string info = server.command({"HVALS", k_info});
    for (const char* field : {"host", "pid", "user", "command", "process"}) {
      CHECK_FALSE(has(info, field));
    }
  }
}

TEST_CASE("--no-info stores nothing of a waiter but that it waits, and it has its turn") {
  Server server;
  Holder holder(server, {"--fair"});
  Process waiter(rlock_argv("exec", "--fair", "--no-info", "-r", server.unix_url(), "job", "--",
                            "echo", "ran"));
  const auto queued = [&] { return server.list({"LRANGE", k_queue, "0", "-1"}); };
  REQUIRE(wait_until([&] { return queued().size() == 1; }));
  const std::string info = server.command({"HGET", k_info, queued()[0]});
  CHECK(has(info, "\"due\""));
  for (const char* field : {"host", "pid", "user", "command", "process"}) {
    CHECK_FALSE(has(info, field));
  }
  CHECK(has(inspect(server), "\"alive\":true"));
  holder.process().close_stdin();
  CHECK(waiter.wait().out == "ran\n");
}

TEST_CASE("acquire tells of its caller, with whom the hold does not end") {
  Server server;
  const Result result = run(
      {"sh", "-c",
       "\"$0\" acquire --no-watchdog -r \"$1\" --note \"$(printf 'a\\033[2Jb')\" job && echo $$",
       rlock_argv()[0], server.unix_url()});
  REQUIRE(result.status == 0);
  const std::string pid = result.out.substr(result.out.find('\n') + 1);
  const std::string json = inspect(server);
  CHECK(has(json, "\"command\":\"sh\",\"pid\":" + pid.substr(0, pid.find('\n'))));
  CHECK_FALSE(has(server.command({"HVALS", k_info}), "process"));
  const Result text = run(rlock_argv("inspect-queue", "-r", server.unix_url(), "job"));
  CHECK_FALSE(has(text.out, "\x1b"));
}

TEST_CASE("a waiter at a terminal sees the holder's note") {
  Server server;
  Holder holder(server, {"--note", "ticket 4711"});
  Pty waiter(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "true"), {.columns = 200});
  waiter.expect("(sh) \"ticket 4711\"");
}

TEST_CASE("a note that is too long is refused") {
  Server server;
  const Result result = run(rlock_argv("exec", "-r", server.unix_url(), "--note",
                                       std::string(257, 'x'), "job", "--", "true"));
  CHECK(result.status == 64);
  CHECK(result.err == "rlock: --note: it has 257 bytes; expected 256 at the most\n");
  CHECK(server.keys().empty());
}

TEST_CASE("a lock that is kept by --at-least no longer tells of a process that it would end with") {
  Server server;
  REQUIRE(run(rlock_argv("exec", "--at-least", "1h", "-r", server.unix_url(), "job", "--", "true"))
              .status == 0);
  const std::string info = server.command({"HVALS", k_info});
  CHECK(has(info, "\"command\":\"true\""));
  CHECK_FALSE(has(info, "process"));
}
