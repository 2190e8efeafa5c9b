// --redis local: the private server that rlock starts by itself.
// Labels: quick
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/servers/local_server_fixture.hpp"
#include "support/contents.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::local;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

void check_config_error(const std::string& url, const std::string& why = "") {
  const Result result = run(echo_argv(url));
  CAPTURE(result.err);
  CHECK(result.status == 78);
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, why));
  CHECK(result.out.empty());
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

}  // namespace

TEST_CASE("local: many runs at once start exactly one server, in a private directory") {
  Place place;
  std::deque<Process> processes;
  const ProcessOptions patient{.env = {{"RLOCK_TIMEOUT", "60s"}}};  // so many keep a machine busy
  for (int i = 0; i < 50; ++i) processes.emplace_back(echo_argv(place.url()), patient);
  for (Process& process : processes) check_ran(process.wait());
  CHECK(servers_in(place.directory()).size() == 1);
  CHECK(mode_of(place.directory()) == 0700);
  // Nobody else could enter, and nothing of the server is readable to others in any case.
  for (const auto& entry : fs::directory_iterator(place.directory())) {
    CAPTURE(entry.path().string());
    CHECK((mode_of(entry.path()) & 077) == 0);
  }
}

TEST_CASE("local: the server outlives its starter, whatever kills that") {
  Place place;
  Process starter(
      rlock_argv("exec", "-r", place.url(), "job", "--", "sh", "-c", "echo ready; sleep 1000"));
  starter.wait_for_stdout("ready");
  const std::vector<pid_t> servers = servers_in(place.directory());
  REQUIRE(servers.size() == 1);
  const auto server = process_stat(servers[0]);
  const auto own = process_stat(starter.pid());
  REQUIRE(server);
  REQUIRE(own);
  CHECK(server->session != own->session);
  CHECK(server->group != own->group);
  starter.signal_group(SIGKILL);
  starter.wait_exit();
  CHECK(run(rlock_argv("unlock", "--force", "-y", "-r", place.url(), "job")).status == 0);
  check_ran(run(echo_argv(place.url())));
  CHECK(servers_in(place.directory()) == servers);
}

TEST_CASE("local: a run of exec that ends its command leaves alone the server started below it") {
  const Server server;
  const Place place;
  const std::string mark = "below-" + server.directory();
  const std::string rlock = "'" + rlock_program() + "' exec -r ";
  std::string script = rlock + place.url() + " slot -- echo ready; sleep 1000";
  bool by_guardian = false;
  SUBCASE("the supervisor") {}
  SUBCASE("the guardian") { by_guardian = true; }
  SUBCASE("the guardian of a run above that") {
    by_guardian = true;
    // Its descendants are the guardian's to end, the server is one of them.
    script = rlock + server.unix_url() + " inner -- sh -c \"" + script + "\"";
  }
  Process exec(rlock_argv("exec", "-r", server.unix_url(), "--lease", "6s", "outer", "--", "sh",
                          "-c", script),
               {.env = {{"MARK", mark}}});
  exec.wait_for_stdout("ready");
  const std::vector<pid_t> servers = servers_in(place.directory());
  REQUIRE(servers.size() == 1);
  by_guardian ? exec.signal(SIGKILL) : static_cast<void>(server.command({"DEL", "outer"}));
  static_cast<void>(exec.wait_exit());
  CHECK(wait_until([&] { return processes_with(mark).empty(); }));
  check_ran(run(echo_argv(place.url())));
  CHECK(servers_in(place.directory()) == servers);
  // One that was told to end may take a moment to do so.
  const std::string log = contents(place.directory() + "/server.log");
  CHECK(has(log, "Server initialized"));
  CHECK_FALSE(has(log, "SIGTERM"));
}

TEST_CASE("exec ends a server that is the command's own, whatever it shares with a private one") {
  const Server server;
  const Place place;
  std::string own;
  SUBCASE("directory, socket and number") {
    own = "redis-server --port 0 --save '' --dir . --unixsocket " + place.directory() +
          "/redis.sock --pidfile server.pid 3<&-";
  }
  SUBCASE("a lock of its directory") {
    own = "sh -c ': >redis.sock; while :; do sleep 1000; done' sh " + place.directory() +
          "/redis.sock";
  }
  Process exec(rlock_argv(
      "exec", "-r", server.unix_url(), "--lease", "6s", "outer", "--", "sh", "-c",
      "mkdir " + place.directory() + " && cd " + place.directory() +
          " && exec 3<. && flock 3 && echo 1 >server.pid\n" + "(env -i PATH=\"$PATH\" setsid " +
          own + " >log 2>&1 &)\n" + "while [ ! -e redis.sock ]; do sleep 0.02; done\n" +
          "echo ready; sleep 1000"));
  exec.wait_for_stdout("ready");
  const auto is_there = [&] { return !processes_with(place.directory() + "/redis.sock").empty(); };
  REQUIRE(wait_until(is_there));
  server.command({"DEL", "outer"});
  static_cast<void>(exec.wait_exit());
  CHECK_FALSE(is_there());
}

TEST_CASE("local: the server keeps nothing of its starter open") {
  Place place;
  // run() waits until nobody has stdout and stderr open: a server that had would let it time out.
  check_ran(run(echo_argv(place.url()), {}, 30s));
  const std::vector<pid_t> servers = servers_in(place.directory());
  REQUIRE(servers.size() == 1);
  std::ifstream environment("/proc/" + std::to_string(servers[0]) + "/environ");
  std::string text;
  std::getline(environment, text, '\1');
  CHECK_FALSE(has(text, "HOME="));
  CHECK_FALSE(has(text, k_mark_variable));
}

TEST_CASE("local: a server that was killed is started again, and the locks are still there") {
  Place place;
  REQUIRE(run(rlock_argv("acquire", "--no-watchdog", "--lease", "1h", "-r", place.url(), "kept"))
              .status == 0);
  const std::vector<pid_t> servers = servers_in(place.directory());
  REQUIRE(servers.size() == 1);
  // Its log of changes is written once a second and at each turn of its loop: let it have a turn.
  check_ran(run(echo_argv(place.url())));
  ::kill(servers[0], SIGKILL);
  REQUIRE(wait_until([&] { return !alive(servers[0]); }));
  check_ran(run(echo_argv(place.url())));
  const std::vector<pid_t> again = servers_in(place.directory());
  REQUIRE(again.size() == 1);
  CHECK(again != servers);
  CHECK(run(rlock_argv("exec", "-n", "-r", place.url(), "kept", "--", "true")).status == 75);
}

TEST_CASE("local: a waiter survives the death of the server") {
  Place place;
  Process holder(
      rlock_argv("exec", "-r", place.url(), "job", "--", "sh", "-c", "echo ready; cat > /dev/null"),
      {.hold_stdin = true});
  holder.wait_for_stdout("ready");
  Process waiter(rlock_argv("exec", "-v", "-r", place.url(), "job", "--", "echo", "ran"));
  const std::vector<pid_t> servers = servers_in(place.directory());
  REQUIRE(servers.size() == 1);
  // A run that meets the server as it dies has nothing yet to survive with: let it wait first.
  RespClient client(connect_unix(place.directory() + "/redis.sock"));
  REQUIRE(wait_until([&] {
    return client.call({"PUBSUB", "NUMSUB", "redisson_lock__channel:{job}"}).back() == "1";
  }));
  ::kill(servers[0], SIGKILL);
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  const Result result = waiter.wait();
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "ran\n");
  CHECK(servers_in(place.directory()).size() == 1);
}

TEST_CASE("local: a directory that is not private is refused with status 78") {
  Place place;
  SUBCASE("readable for others") {
    fs::create_directory(place.directory());
    ::chmod(place.directory().c_str(), 0755);
    check_config_error(place.url());
  }
  SUBCASE("open to all, with the sticky bit") {
    fs::create_directory(place.directory());
    ::chmod(place.directory().c_str(), 01777);
    check_config_error(place.url());
  }
  SUBCASE("a symbolic link to a private one") {
    fs::create_directory(place.root() + "/real");
    ::chmod((place.root() + "/real").c_str(), 0700);
    fs::create_symlink(place.root() + "/real", place.directory());
    for (const char* end : {"", "/", "//", "/.", "/./"}) {
      check_config_error(place.url() + end, ": a symbolic link; name the directory itself\n");
    }
    CHECK(fs::is_empty(place.root() + "/real"));
  }
  SUBCASE("a file") {
    std::ofstream(place.directory()) << "x";
    check_config_error(place.url(), ": not a directory\n");
  }
  SUBCASE("private, with files of something else") {
    fs::create_directory(place.directory());
    ::chmod(place.directory().c_str(), 0700);
    std::ofstream(place.directory() + "/notes.txt") << "x";
    check_config_error(place.url());
    CHECK(fs::remove_all(place.directory()) == 2);
  }
  SUBCASE("under something that is not there") { check_config_error(place.url() + "/a/b"); }
  SUBCASE("another user's") {
    if (::geteuid() != 0) return;
    fs::create_directory(place.directory());
    ::chmod(place.directory().c_str(), 0700);
    REQUIRE(::chown(place.directory().c_str(), 65534, 65534) == 0);
    check_config_error(place.url());
  }
  SUBCASE("too long a path for a socket") {
    check_config_error("local:" + place.root() + "/" + std::string(120, 'x'));
  }
  CHECK(servers_in(place.directory()).empty());
}

TEST_CASE("local: a server that cannot start is told by status 69") {
  Place place;
  fs::create_directory(place.directory());
  ::chmod(place.directory().c_str(), 0700);
  SUBCASE("it ends before it listens") {
    fs::create_directory(place.directory() + "/server.log");  // cannot be written
    const Result result = run(echo_argv(place.url()));
    CAPTURE(result.err);
    CHECK(result.status == 69);
    CHECK(is_one_message(result.err));
    CHECK(has(result.err, "server.log"));
    CHECK(wait_until([&] { return servers_in(place.directory()).empty(); }));
    return;
  }
  SUBCASE("it ends when it has read its files") {}
  fs::create_directory(place.directory() + "/appendonlydir");
  // Neither a list of log files nor empty.
  std::ofstream(place.directory() + "/appendonlydir/appendonly.aof.manifest") << "nonsense\n";
  std::ofstream(place.directory() + "/appendonly.aof") << "nonsense\n";  // Redis before 7
  const Result result = run(echo_argv(place.url()));
  CAPTURE(result.err);
  CHECK(result.status == 69);
  CHECK(is_one_message(result.err));
  CHECK(wait_until([&] { return servers_in(place.directory()).empty(); }));
}

TEST_CASE("local: a run with too few descriptors is no mistake in the configuration") {
  const Place place;
  for (const char* limit : {"4", "5", "6", "7", "8", "9", "10", "12"}) {
    CAPTURE(limit);
    Words argv = rlock_argv("exec", "--timeout", "300ms", "-r", place.url(), "job", "--", "true");
    argv.insert(argv.begin(), {"prlimit", std::string("--nofile=") + limit});
    const Result result = run(argv);
    CAPTURE(result.err);
    CHECK(result.status != 78);
  }
}

TEST_CASE("local: the server may use more memory than the run that started it") {
  if (is_sanitized()) return;  // a sanitizer needs more memory itself
  const Place place;
  Words argv = echo_argv(place.url());
  argv.insert(argv.begin(), {"prlimit", "--as=40000000:"});
  check_ran(run(argv));
}
