// watch on a real terminal: what it shows at any size, and that it gives the terminal back.
// Labels: long
#include <algorithm>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "support/fair_lock.hpp"
#include "support/looks.hpp"
#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/terminal_model.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const std::string k_given_back = "\x1b[?7h\x1b[?25h\x1b[?1049l";

std::string last_line(const TerminalModel& model) { return model.lines().back(); }

// `rlock watch` on a terminal, and what that shows.
class Screen {
 public:
  Screen(const Server& server, const Words& words, unsigned short columns, unsigned short rows)
      : pty_(argv(server, words), {.columns = columns, .rows = rows}), model_(columns, rows) {}

  // Waits until the screen shows all these texts.
  void expect(const Words& texts) {
    const bool shown = wait_until([&] {
      const std::string text = read().text();
      return std::all_of(texts.begin(), texts.end(),
                         [&](const std::string& part) { return has(text, part); });
    });
    CAPTURE(model_.text());
    CAPTURE(texts.front());
    REQUIRE(shown);
  }
  // Waits for so many more frames.
  void expect_frames(std::size_t count) {
    const std::size_t before = read().frames();
    REQUIRE(wait_until([&] { return read().frames() >= before + count; }));
  }
  TerminalModel& read() {
    const std::string& output = pty_.output();
    model_.feed(std::string_view(output).substr(fed_));
    fed_ = output.size();
    return model_;
  }
  void resize(unsigned short columns, unsigned short rows) {
    read();
    pty_.resize(columns, rows);
    model_.resize(columns, rows);
  }
  // The end, with what was written last; the terminal must have been given back.
  Result end() {
    Result result = pty_.wait();
    read();
    CHECK_FALSE(model_.is_alternate());
    CHECK(model_.has_cursor());
    CHECK(model_.wraps());
    CHECK(has(result.out, k_given_back));
    return result;
  }
  Pty& pty() { return pty_; }

 private:
  static Words argv(const Server& server, const Words& words) {
    return rlock_argv("watch", "-r", server.unix_url(), words);
  }

  Pty pty_;
  TerminalModel model_;
  std::size_t fed_ = 0;
};

// A fair lock with a name, a holder and 100 waiters, all of which would like to touch the terminal.
const std::string k_name =
    "j\x1b[2J\x1b[31mb\n\xc2\x9b"
    "6n\xff";

void make_nasty_lock(const Server& server) {
  const std::string about =
      R"({"host":"h\u001b]0;t\u0007\u4e2d\u6587","pid":42,"user":"u\u001b[1;1H","command":"c\r\n\u009b","since":1})";
  const auto key = [](const std::string& prefix) { return prefix + ":{" + k_name + "}"; };
  const std::string now = std::to_string(server_time(server));
  server.command({"HSET", k_name, "o:1", "2"});
  server.command({"PEXPIRE", k_name, "3600000"});
  server.command({"HSET", key("rlock_info"), "o:1", about, "w\x1b[5m:1", about});
  for (int i = 1; i <= 100; ++i) {
    const std::string waiter = "w\x1b[5m:" + std::to_string(i);
    server.command({"RPUSH", key("redisson_lock_queue"), waiter});
    server.command({"ZADD", key("redisson_lock_timeout"),
                    std::to_string(std::stoll(now) + 300'000 * i), waiter});
  }
}

}  // namespace

TEST_CASE("the screen of watch fits a terminal of any size, and no name can touch it") {
  Server server;
  make_nasty_lock(server);
  unsigned short columns = 80;
  unsigned short rows = 24;
  SUBCASE("80x24") {}
  SUBCASE("200x50") {
    columns = 200;
    rows = 50;
  }
  SUBCASE("20x5") {
    columns = 20;
    rows = 5;
  }
  SUBCASE("1x1") { columns = rows = 1; }
  Screen screen(server, {k_name, "other", "--until", "held"}, columns, rows);
  screen.expect_frames(3);
  if (columns >= 80) {
    screen.expect({"j\\x1b[2J\\x1b[31mb\\n\\xc2", "  held (fair), expires in ",
                   ", 100 waiting, 1 problem", "  holder    h\\x1b]0;t\\x07中文 pid 42 (c\\x0d\\n",
                   "  waiter 1  h\\x1b]0;t\\x07中文 pid 42", "more waiting", "other  free",
                   "last events", "  other is free", "Z  connected to unix:///"});
  }
  if (columns >= 200) screen.expect({" as u\\x1b[1;1H, for ", "w\\x1b[5m:20, "});
  if (columns == 20) screen.expect({"j\\x1b", "  holder    h", "…", "other  free", "Z  connecte…"});
  CHECK(screen.read().is_alternate());
  CHECK_FALSE(screen.read().has_cursor());
  CHECK(screen.read().faults().empty());
  server.command({"HSET", "other", "o:1", "1"});
  CHECK(screen.end().status == 0);
  CHECK(screen.read().faults().empty());
}

TEST_CASE("the screen of watch shows what happens, and counts down without asking") {
  Server server;
  hold(server);
  Screen screen(server, {"job"}, 80, 24);
  screen.expect({"job  held (reentrant), expires in ", "  holder    " + k_foreign_owner});
  Peer waiter(server, "w:1");
  waiter.acquire();
  screen.expect({"job  held (fair)", "1 waiting", "  waiter 1  w:1", "deadline in 1",
                 "queued by w:1, position 1, 1 waiting"});
  server.pause();
  screen.expect({"Z  server away for ", "no answer from redis at unix:///"});
  std::set<std::string> titles;
  CHECK(wait_until([&] {
    titles.insert(screen.read().lines()[0]);
    return titles.size() >= 3;
  }));
  server.resume();
  screen.expect({"the server is back after ", "Z  connected to "});
  CHECK_FALSE(has(screen.read().text(), "restarted"));
  server.command({"DEL", "job"});
  screen.expect({"job  free", "released by " + k_foreign_owner});
  CHECK(screen.read().faults().empty());
}

TEST_CASE("the screen of watch outlives a restart of the server, and says so") {
  Server server;
  hold(server);
  Screen screen(server, {"job"}, 100, 20);
  screen.expect({"job  held (reentrant)"});
  server.stop();
  screen.expect({"Z  server away for ", "  error: "});
  screen.expect_frames(2);
  server.start();
  screen.expect(
      {"the server is back after ", ", and has restarted", "job  free", "Z  connected to "});
  CHECK(screen.read().faults().empty());
}

TEST_CASE("the screen of watch follows the terminal's size at once") {
  Server server;
  make_nasty_lock(server);
  Screen screen(server, {k_name}, 80, 24);
  screen.expect({"more waiting"});
  for (const auto& [columns, rows] : {std::pair(200, 50), std::pair(30, 6), std::pair(80, 24)}) {
    screen.resize(static_cast<unsigned short>(columns), static_cast<unsigned short>(rows));
    // Frames of the old size may still have been on their way.
    REQUIRE(wait_until([&] { return has(last_line(screen.read()), "Z  connected"); }));
    screen.expect_frames(1);
    screen.read().forgive();
    screen.expect_frames(2);
    CHECK(screen.read().faults().empty());
    CHECK(has(last_line(screen.read()), "Z  connected"));
  }
}

TEST_CASE("watch gives the terminal back however it ends") {
  Server server;
  server.command({"ACL", "SETUSER", "some", "on", ">secret", "~*", "&*", "+@all"});
  Words words = {"job"};
  SUBCASE("by Ctrl-C") {
    Screen screen(server, words, 80, 24);
    screen.expect({"job  free"});
    screen.pty().type("\x03");
    const Result result = screen.end();
    CHECK(result.status == 128 + SIGINT);
    CHECK(result.signaled);
    CHECK(result.out.ends_with(k_given_back));
  }
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}) {
    SUBCASE(("by signal " + std::to_string(signal)).c_str()) {
      Screen screen(server, words, 80, 24);
      screen.expect({"job  free"});
      screen.pty().signal(signal);
      CHECK(screen.end().status == 128 + signal);
    }
  }
  SUBCASE("by --for") {
    words = {"--for", "5", "job"};
    Screen screen(server, words, 80, 24);
    screen.expect({"job  free"});
    CHECK(screen.end().status == 0);
  }
  SUBCASE("by --for, before --until") {
    words = {"--for", "2", "--until", "held", "job"};
    Screen screen(server, words, 80, 24);
    CHECK(screen.end().status == 124);
  }
  SUBCASE("by an error that waiting does not mend") {
    words = {"-r", "redis://some:secret@127.0.0.1:" + std::to_string(server.port()), "job"};
    Pty pty(rlock_argv("watch", words));
    pty.expect("connected to redis://127.0.0.1");
    server.command({"ACL", "DELUSER", "some"});
    const Result result = pty.wait();
    CHECK(result.status == 77);
    const std::size_t back = result.out.find(k_given_back);
    REQUIRE(back != std::string::npos);
    CHECK(result.out.find("rlock: ", back) != std::string::npos);
    CHECK_FALSE(has(result.out, "secret"));
  }
}

TEST_CASE("watch ends by SIGTERM although the terminal takes nothing more") {
  Server server;
  Screen screen(server, {"job"}, 80, 24);
  screen.expect({"job  free"});
  screen.pty().type("\x13");  // Ctrl-S
  const long before = looks(server);
  CHECK(wait_until([&] { return looks(server) >= before + 3; }));
  screen.pty().signal(SIGTERM);
  CHECK(wait_until([&] { return !screen.pty().running(); }));
  CHECK(screen.pty().wait().status == 128 + SIGTERM);
}

TEST_CASE("watch does not touch the terminal's screen when the server was never there") {
  Pty pty(rlock_argv("watch", "-r", "unix:///nonexistent.sock", "job"));
  const Result result = pty.wait();
  CHECK(result.status == 69);
  CHECK_FALSE(has(result.out, "\x1b"));
}

TEST_CASE("watch writes lines to a terminal that cannot show a screen, or with --json") {
  Server server;
  Words argv = rlock_argv("watch", "-r", server.unix_url(), "--for", "0", "job");
  PtyOptions options;
  SUBCASE("dumb") { options.env = {{"TERM", "dumb"}}; }
  SUBCASE("unknown") { options.env = {{"TERM", ""}}; }
  SUBCASE("--json") { argv.emplace_back("--json"); }
  const Result result = Pty(argv, options).wait();
  CHECK(result.status == 0);
  CHECK_FALSE(has(result.out, "\x1b"));
  CHECK(has(result.out, "job"));
}

TEST_CASE(
    "Ctrl-Z gives the terminal back and stops watch; fg goes on; in the background it is silent") {
  Server server;
  Pty shell({"bash", "--norc", "-i"}, {.env = {{"PS1", "ready> "},
                                               {"RLOCK", rlock_program()},
                                               {"RLOCK_REDIS", server.unix_url()}}});
  shell.expect("ready> ");
  shell.type("$RLOCK watch job\r");
  shell.expect("\x1b[?1049h");
  shell.expect("connected to");
  for (int i = 0; i < 2; ++i) {
    shell.type("\x1a");
    shell.expect(k_given_back);
    shell.expect("Stopped");
    shell.expect("ready> ");
    shell.type("fg\r");
    shell.expect("\x1b[?1049h");
    shell.expect("connected to");
  }
  shell.type("\x1a");
  shell.expect("Stopped");
  shell.expect("ready> ");
  const long before = looks(server);
  shell.type("bg\r");
  shell.expect("ready> ");
  const std::size_t seen = shell.output().size();
  CHECK(wait_until([&] { return looks(server) >= before + 3; }));
  CHECK_FALSE(has(shell.output().substr(seen), "\x1b["));
  shell.type("fg\r");
  shell.expect("\x1b[?1049h");
  shell.expect("connected to");
  shell.type("\x03");
  shell.expect(k_given_back);
  shell.expect("ready> ");
  shell.type("echo status=$?.; stty -a | grep -o ' echo '\r");
  shell.expect("status=130.");
  shell.expect(" echo ");
}

TEST_CASE("q leaves the screen of watch, which says so, and the terminal is as it was") {
  Server server;
  Pty shell({"bash", "--norc", "-i"}, {.env = {{"PS1", "ready> "},
                                               {"RLOCK", rlock_program()},
                                               {"RLOCK_REDIS", server.unix_url()}}});
  shell.expect("ready> ");
  for (const std::string options : {"", "--until free ", "--until held "}) {
    if (options == "--until free ") server.command({"HSET", "job", "o:1", "1"});
    if (options == "--until held ") server.command({"DEL", "job"});
    shell.type("B=$(stty -g); $RLOCK watch " + options +
               "job; echo status=$?.; [ \"$(stty -g)\" = \"$B\" ] && echo same=$((40 + 2))\r");
    shell.expect("connected to");
    shell.expect("q: leave");
    shell.type("xQ\rq");
    shell.expect(k_given_back);
    shell.expect(options.empty() ? "status=0." : "status=124.");
    shell.expect("same=42");
    shell.expect("ready> ");
  }
  // Stopped and continued by way of the background, it reads keys again, and none in between.
  shell.type("$RLOCK watch job\r");
  shell.expect("q: leave");
  shell.type("\x1a");
  shell.expect("Stopped");
  shell.expect("ready> ");
  shell.type("bg\r");
  shell.expect("ready> ");
  const long before = looks(server);
  for (int i = 1; i <= 3; ++i) {
    shell.type("echo q=$((" + std::to_string(i) + " + 40))qqq\r");
    shell.expect("q=4" + std::to_string(i) + "qqq");
    CHECK(wait_until([&] { return looks(server) >= before + i; }));
  }
  shell.expect("ready> ");
  shell.type("jobs\r");
  shell.expect("Running");
  shell.type("fg\r");
  shell.expect("q: leave");
  shell.type("q");
  shell.expect(k_given_back);
  shell.expect("ready> ");
}

TEST_CASE("watch reads no keys where stdin is no terminal, or it is a script's background job") {
  Server server;
  const EnvChanges env{{"RLOCK", rlock_program()}, {"RLOCK_REDIS", server.unix_url()}};
  SUBCASE("stdin is no terminal") {
    Pty pty({"sh", "-c", "exec \"$RLOCK\" watch job </dev/null"}, {.env = env});
    pty.expect("connected to");
    pty.type("q\r");
    const long before = looks(server);
    CHECK(wait_until([&] { return looks(server) >= before + 3; }));
    CHECK(pty.running());
    CHECK_FALSE(has(pty.output(), "q: leave"));
    pty.type("\x03");
    CHECK(pty.wait().status == 128 + SIGINT);
  }
  SUBCASE("a background job of a script") {
    Pty pty({"bash", "-c", "\"$RLOCK\" watch job <&0 & IFS= read -r line; echo \"got=$line.\""},
            {.env = env});
    pty.expect("connected to");
    const long before = looks(server);
    CHECK(wait_until([&] { return looks(server) >= before + 2; }));
    pty.type("q q\r");
    pty.expect("got=q q.");
    CHECK_FALSE(has(pty.output(), "q: leave"));
  }
}
