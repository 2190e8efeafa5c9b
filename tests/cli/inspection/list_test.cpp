// list: the locks on the server, one a line.
// Labels: long unsanitized server rights-fair
#include <algorithm>
#include <csignal>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/inspection/list_fixture.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::lists;
using namespace std::chrono_literals;

namespace {

void tell_of_owner(const Server& server, const std::string& name, const std::string& host,
                   const std::string& command) {
  server.command({"HSET", "rlock_info:{" + name + "}", k_foreign_owner,
                  R"({"host":")" + host + R"(","pid":4242,"user":"ann","command":")" + command +
                      R"(","kind":"reentrant","since":5,"note":"n\u001b"})"});
}

// As a terminal shows it: what stands before a "\r" or "clear the line" is gone.
std::string shown(std::string output) {
  const std::size_t cleared = output.rfind("\r\x1b[K");
  if (cleared != std::string::npos) output.erase(0, cleared + 4);
  output.erase(std::remove(output.begin(), output.end(), '\r'), output.end());
  return output;
}

std::size_t width(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
  }));
}

}  // namespace

TEST_CASE("list shows locks of every kind, sorted and aligned") {
  Server server;
  hold(server, "plain");
  tell_of_owner(server, "plain", "web1", "backup");
  server.command(
      {"HSET", "pair", "mode", "read", k_foreign_owner, "1", k_foreign_client + ":7", "1"});
  server.command({"PEXPIRE", "pair", "3599000"});
  hold(server, "Fair");
  server.command({"RPUSH", "redisson_lock_queue:{Fair}", "w:1", "w:2"});
  for (const char* waiter : {"w:1", "w:2"}) {
    server.command({"ZADD", "redisson_lock_timeout:{Fair}", "9000000000000", waiter});
  }
  server.command({"HSET", "forever", k_foreign_owner, "1"});
  server.command({"HSET", "no lock", "name", "value"});
  server.command({"SET", "lock:s", "token", "PX", "3599000"});
  const Words lines = list(server, {"--simple", "lock:*"});
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] ==
        "NAME     KIND        STATE     TTL  HOLDER" + std::string(48, ' ') + "WAITERS  PROBLEMS");
  CHECK(names_in(lines) == Words{"Fair", "forever", "lock:s", "pair", "plain"});
  CHECK(lines[1].starts_with("Fair     fair        held   59m5"));
  CHECK(lines[1].ends_with("s  " + k_foreign_owner +
                           "          2 (all dead)  dead_head,deadline_far_ahead"));
  CHECK(lines[2].starts_with("forever  reentrant   held    never  " + k_foreign_owner));
  CHECK(lines[2].ends_with("0  no_expiry"));
  CHECK(lines[3].starts_with("lock:s   simple?     held   59m5"));
  CHECK(has(lines[3], "s  token  "));
  CHECK(lines[4].starts_with("pair     read-write  held   59m5"));
  CHECK(has(lines[4], "s  " + k_foreign_client + ":"));
  CHECK(has(lines[4], " +1 more  "));
  CHECK(lines[5].starts_with("plain    reentrant   held   59m5"));
  CHECK(has(lines[5], "s  web1 pid 4242 (backup) \"n\\x1b\"  "));
  CHECK(lines[5].ends_with(" 0"));
}

TEST_CASE("list shows who holds what rlock took, and changes nothing") {
  Server server;
  const Result taken =
      run(rlock_argv("acquire", "--no-watchdog", "-r", server.unix_url(), "a{b}c"));
  REQUIRE(taken.status == 0);
  const Words before = server.keys();
  const Words lines = list(server);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == lines[0].substr(0, lines[0].find("WAITERS")) + "WAITERS");  // no problems
  CHECK(lines[1].starts_with("a{b}c  reentrant  held   2"));                    // of 30s
  CHECK(has(lines[1], " pid " + std::to_string(::getpid()) + " ("));
  CHECK(server.keys() == before);
}

TEST_CASE("list of a pattern, and of what is stuck") {
  Server server;
  for (const char* name : {"web:1", "web:2", "[x]", "api"}) hold(server, name);
  server.command({"PERSIST", "web:2"});
  server.command({"PERSIST", "api"});
  server.command({"RPUSH", "redisson_lock_queue:{web:free}", "w:1"});
  CHECK(names_in(list(server, {"web:*"})) == Words{"web:1", "web:2", "web:free"});
  CHECK(names_in(list(server, {"web:[12]"})) == Words{"web:1", "web:2"});
  CHECK(names_in(list(server, {"\\[x]"})) == Words{"[x]"});
  CHECK(names_in(list(server, {"[[]x]"})) == Words{"[x]"});
  const auto stuck = [&](const Words& words) {
    const Result result = list_with(server.unix_url(), words);
    CHECK(result.status == 1);
    CHECK(result.err.empty());
    return names_in(lines_of(result.out));
  };
  CHECK(stuck({"--stuck"}) == Words{"api", "web:2", "web:free"});
  CHECK(stuck({"--stuck", "web:*"}) == Words{"web:2", "web:free"});
  CHECK(list(server, {"-q", "--stuck", "web:1"}).empty());
}

TEST_CASE("list shows free locks that somebody waits for") {
  Server server;
  server.command({"RPUSH", "redisson_lock_queue:{queue}", "w:1", "w:2"});
  server.command({"ZADD", "redisson_lock_timeout:{orphan}", "1", "w:1"});
  server.command({"SET", "redisson_lock_queue:{wrong}", "text"});
  server.command({"HSET", "rlock_info:{gone}", k_foreign_owner, "{}"});  // until it expires
  CHECK(list(server) ==
        Words{"NAME    KIND  STATE  TTL  HOLDER       WAITERS  PROBLEMS",
              "orphan  fair  free     -  -                  0  score_without_member",
              "queue   fair  free     -  -       2 (all dead)  dead_head,member_without_score",
              "wrong   -     free     -  -                  0  wrong_kind"});
}

TEST_CASE("list --json prints an object a line") {
  Server server;
  hold(server, "job\xff");
  tell_of_owner(server, "job\xff", "web1", "");
  server.command({"RPUSH", "redisson_lock_queue:{free}", "w:1"});
  const Words lines = list(server, {"--json"});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with(
      R"({"name":"free","kind":"fair","state":"free","ttl_ms":null,"holder_count":0,)"
      R"("waiter_count":1,"owner":null,"host":null,"pid":null,"command":null,"user":null,)"
      R"("since_ms":null,"note":null,"kept_until_ms":null,"listening":0,"problems":[{"code":)"
      R"("dead_head","detail":"the first waiter, w:1, is dead: nobody listens on its channel",)"
      R"("hint":"rlock -r )" +
      server.unix_url() + " "));
  CHECK(has(lines[0], R"({"code":"member_without_score","detail":")"));
  CHECK(
      lines[1].starts_with(R"({"name":"job\\xff","kind":"reentrant","state":"held","ttl_ms":35)"));
  CHECK(has(lines[1], R"(,"holder_count":1,"waiter_count":0,"owner":")" + k_foreign_owner +
                          R"(","host":"web1","pid":4242,"command":null,"user":"ann","since_ms":5,)"
                          R"("note":"n\u001b","kept_until_ms":null,"listening":0,"problems":[],)"));
}

TEST_CASE("list of nothing exits 0 and says so on stderr") {
  Server server;
  const auto check_none = [&](const Words& words, std::string_view what) {
    const Result result = list_with(server.unix_url(), words);
    CHECK(result.status == 0);
    CHECK(result.out.empty());
    CHECK(is_one_message(result.err));
    CAPTURE(result.err);
    CHECK(has(result.err, what));
  };
  check_none({}, "rlock: list: no locks on ");
  hold(server, "job");
  check_none({"x*"}, "no locks on ");
  check_none({"x\x1b*"}, "x\\x1b*\n");
  check_none({"--json", "x*"}, "x*\n");
  check_none({"--stuck"}, "no lock has a problem on ");
  check_none({""}, "no locks on ");
  CHECK(list(server, {"-q", "x*"}).empty());
  CHECK(list(server, {"-q", "--stuck"}).empty());
}

TEST_CASE("list: escape sequences in names, owners and hosts cannot touch the terminal") {
  Server server;
  hold(server, "a\x1b[2J\n\xc2\x9bx", k_foreign_client + ":\x1b]0;title\x07");
  hold(server, "b");
  tell_of_owner(server, "b", "\\u001b[31mhost", "com\\nmand\\u202e");
  server.command({"SET", "simple\r", "to\x1bken"});
  const Result result = list_with(server.unix_url(), {"--simple", "simple*"});
  CHECK(result.status == 0);
  CHECK(lines_of(result.out).size() == 4);
  CHECK(std::none_of(result.out.begin(), result.out.end(),
                     [](char c) { return c != '\n' && static_cast<unsigned char>(c) < 0x20; }));
  CHECK(has(result.out, "a\\x1b[2J\\n\\xc2\\x9bx  "));
  CHECK(has(result.out, "\\x1b[31mhost pid 4242 (com\\nmand"));
  CHECK_FALSE(has(result.out, "\xc2\x9b"));
  CHECK_FALSE(has(result.out, "\xe2\x80\xae"));
}

TEST_CASE("list | head -1 ends quietly") {
  Server server;
  fill(server, 5000, "'hset', 'job' .. i, '" + k_foreign_owner + "', 1");
  for (const char* option : {"-q", "--json"}) {
    const Result result = run({"sh", "-c", "\"$0\" list \"$2\" -r \"$1\" | head -n 1",
                               rlock_program(), server.unix_url(), option},
                              {}, 30s);
    CHECK(result.status == 0);
    CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 1);
    CHECK(result.err.empty());
  }
}

TEST_CASE("list of a server that was never there fails") {
  const Result result = list_with("unix:///nonexistent.sock", {});
  CHECK(result.status == 69);
  CHECK(result.out.empty());
  CHECK(is_one_message(result.err));
}

TEST_CASE("list: a signal ends it at once, and nothing is printed") {
  Server server;
  fill(server, 100'000);
  hold(server, "job");
  Proxy proxy(server.unix_path());
  proxy.set_delay(50ms);
  Process process(rlock_argv("list", "-r", proxy.url()));
  REQUIRE(wait_until([&] { return proxy.requests() >= 5; }));
  SUBCASE("in the middle") {}
  SUBCASE("while the server does not answer") { proxy.set_mode(Mode::blackhole); }
  process.signal(SIGTERM);
  const Result result = process.wait();
  CHECK(result.status == 128 + SIGTERM);
  CHECK(result.out.empty());
  CHECK(result.err.empty());
}

TEST_CASE("list on a terminal is cut to its width, and aligned") {
  Server server;
  hold(server, "short");
  hold(server, "deploy/" + std::string(150, 'x'));
  hold(server, "wide/\xe6\x97\xa5\xe6\x9c\xac");
  tell_of_owner(server, "short", "a-rather-long-host-name.example.net",
                "nightly-backup-of-everything");
  server.command({"PERSIST", "short"});
  for (const auto columns : std::vector<unsigned short>{80, 200}) {
    CAPTURE(columns);
    Pty pty(rlock_argv("list", "--color", "never", "-r", server.unix_url()), {.columns = columns});
    const Result result = pty.wait();
    CHECK(result.status == 0);
    const std::string table = shown(result.out);  // a slow machine shows how far it is before
    CHECK_FALSE(has(table, "\x1b"));
    const Words lines = lines_of(table);
    REQUIRE(lines.size() == 4);
    const std::size_t state = lines[0].find("STATE");
    REQUIRE(state != std::string::npos);
    for (const std::string& line : lines) {
      CAPTURE(line);
      CHECK(width(line) <= columns);
    }
    const auto column_of = [](const std::string& line, std::string_view word) {
      return width(line.substr(0, line.find(word)));
    };
    CHECK(column_of(lines[1], "held") == state);
    CHECK(column_of(lines[2], "held") == state);
    CHECK(column_of(lines[3], "held") + 2 == state);  // two characters of two columns each
    CHECK(has(lines[1], "…"));
    CHECK(has(lines[2], "no_expiry"));
    CHECK(has(lines[2], "a-rather-long-host-name.example.net") == (columns == 200));
  }
}

TEST_CASE("list on a terminal tells how far it is, which vanishes") {
  Server server;
  fill(server, 25'000);
  hold(server, "job");
  Proxy proxy(server.unix_path());
  proxy.set_delay(40ms);
  for (const auto columns : std::vector<unsigned short>{40, 80, 200}) {
    CAPTURE(columns);
    Pty pty(rlock_argv("list", "-r", proxy.url()), {.columns = columns});
    pty.expect("rlock: list: ");
    pty.expect(" of 25001 keys");
    const Result result = pty.wait();
    CHECK(result.status == 0);
    const Words lines = lines_of(shown(result.out));
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].starts_with(k_header));
    CHECK(lines[1].starts_with("job"));
    // Every state of it fitted into a line, and they were far fewer than keys.
    std::size_t states = 0;
    const std::string mark = "\r\x1b[K";
    for (std::size_t at = result.out.find(mark); at != std::string::npos; ++states) {
      const std::size_t next = result.out.find(mark, at + 1);
      if (next != std::string::npos) {
        CHECK(width(result.out.substr(at + mark.size(), next - at - mark.size())) < columns);
      }
      at = next;
    }
    CHECK(states >= 2);
    CHECK(states < 2500);
  }
  Pty quiet(rlock_argv("list", "-q", "-r", proxy.url()));
  CHECK_FALSE(has(quiet.wait().out, "keys looked at"));
}

TEST_CASE("list on a terminal: Ctrl-C leaves the terminal clean") {
  Server server;
  fill(server, 100'000);
  hold(server, "job");
  Proxy proxy(server.unix_path());
  proxy.set_delay(100ms);
  Pty pty(rlock_argv("list", "-r", proxy.url()));
  pty.expect("keys looked at");
  pty.type("\x03");
  const Result result = pty.wait();
  CHECK(result.status == 128 + SIGINT);
  CHECK(shown(result.out).empty());
}
