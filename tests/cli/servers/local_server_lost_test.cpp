// --redis local: when files of the private server are removed, or another one has the same path.
// Labels: long
#include <csignal>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/servers/local_server_fixture.hpp"
#include "support/contents.hpp"
#include "support/fd.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::local;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

// To end a server and start it again takes longer than a request.
const ProcessOptions k_patient{.env = {{"RLOCK_TIMEOUT", "60s"}}};

// Holds "job", with a renewal every 2 s. While the command runs, the file `mark` is there.
Words holder_argv(const Place& place, const std::string& mark, const std::string& lease = "6s") {
  return rlock_argv("exec", "-r", place.url(), "--lease", lease, "--kill-after", "1s", "job", "--",
                    "sh", "-c",
                    "touch " + mark + "; trap 'rm " + mark + "; echo ended; exit' TERM\n" +
                        "echo ready; while :; do sleep 0.05; done");
}

pid_t server_of(const Place& place) {
  const std::vector<pid_t> servers = servers_in(place.directory());
  REQUIRE(servers.size() == 1);
  return servers[0];
}

bool is_held(const Place& place, const std::string& name) {
  return run(rlock_argv("exec", "-n", "-r", place.url(), name, "--", "true"), k_patient).status ==
         75;
}

// Runs a script in its own PID and mount namespaces, with an empty /tmp and nothing in /run but
// the program ($0), which may be built below /tmp.
Result run_apart(const std::string& script) {
  return run({"unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-ec",
              R"(mount -t tmpfs none /run; cp "$0" /run/tested; mount -t tmpfs none /tmp
                 sh -ec "$1" /run/tested)",
              rlock_program(), script});
}

bool has_namespaces() {
  return ::geteuid() == 0 && run({"unshare", "--mount", "--pid", "--fork", "true"}).status == 0;
}

}  // namespace

TEST_CASE("local: a server whose socket was removed is started again, and keeps the locks") {
  const Place place;
  const std::string mark = place.root() + "/mark";
  Process holder(holder_argv(place, mark, "30s"));
  holder.wait_for_stdout("ready");
  REQUIRE(run(rlock_argv("acquire", "--no-watchdog", "--lease", "1h", "-r", place.url(), "kept"))
              .status == 0);
  const pid_t before = server_of(place);
  fs::remove(place.directory() + "/redis.sock");
  SUBCASE("") {}
  SUBCASE("and replaced") {
    REQUIRE(
        run({"python3", "-c", "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])",
             place.directory() + "/redis.sock"})
            .status == 0);
  }
  SUBCASE("and its number") { fs::remove(place.directory() + "/server.pid"); }
  CHECK(is_held(place, "kept"));
  CHECK(is_held(place, "job"));
  CHECK(server_of(place) != before);
  CHECK(holder.running());
  holder.signal(SIGTERM);
  CHECK(holder.wait().status == 128 + SIGTERM);
  check_ran(run(echo_argv(place.url())));
}

TEST_CASE("local: as long as a run may hold a lock, no server begins without the locks") {
  const Place place;
  const std::string mark = place.root() + "/mark";
  Process holder(holder_argv(place, mark));
  holder.wait_for_stdout("ready");
  const pid_t before = server_of(place);
  SUBCASE("its directory was removed") { fs::remove_all(place.directory()); }
  SUBCASE("all its files were removed") {
    for (const auto& entry : fs::directory_iterator(place.directory())) fs::remove_all(entry);
  }
  const Words second = {
      "-r", place.url(), "job", "--", "sh", "-c", "test ! -e " + mark + " && echo alone"};
  const Result refused = run(rlock_argv("exec", "--timeout", "1s", second));
  CAPTURE(refused.err);
  CHECK(refused.status == 69);
  CHECK(is_one_message(refused.err));
  CHECK(has(refused.err, "(process " + std::to_string(before) + ") were removed"));
  const Result result = run(rlock_argv("exec", "--wait-server", "60s", second));
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == "alone\n");
  const Result held = holder.wait();
  CHECK(held.status == 79);
  CHECK(held.out == "ready\nended\n");
  CHECK(server_of(place) != before);
}

TEST_CASE(
    "local: a server with another directory of the same path is not started beside the first") {
  if (!has_namespaces()) return;
  const Place place;
  fs::create_directory(place.directory());
  fs::permissions(place.directory(), fs::perms::owner_all);
  Process holder(holder_argv(place, place.root() + "/mark"));
  holder.wait_for_stdout("ready");
  // As systemd's PrivateTmp= does.
  const Result result = run({"unshare", "--mount", "sh", "-c",
                             "mount -t tmpfs none " + place.root() + R"( && exec "$0" exec -r )" +
                                 place.url() + " job -- echo ran",
                             rlock_program()});
  CAPTURE(result.err);
  CHECK(result.status == 78);
  CHECK(result.out.empty());
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "PrivateTmp="));
  CHECK(has(result.err, "process " + std::to_string(server_of(place))));
}

TEST_CASE("local: a server whose directory was renamed goes on when the name is given back") {
  const Place place;
  REQUIRE(run(rlock_argv("exec", "-r", place.url(), "job", "--", "true")).status == 0);
  const pid_t server = server_of(place);
  fs::rename(place.directory(), place.directory() + ".moved");
  const Result refused = run(rlock_argv("exec", "-n", "-r", place.url(), "job", "--", "true"));
  CAPTURE(refused.err);
  CHECK(refused.status == 78);
  CHECK(has(refused.err, "it was renamed"));
  CHECK_FALSE(fs::exists(place.directory()));
  fs::rename(place.directory() + ".moved", place.directory());
  CHECK(run(rlock_argv("exec", "-n", "-r", place.url(), "job", "--", "true")).status == 0);
  CHECK(server_of(place) == server);
}

TEST_CASE("local: root's runs meet, also those with a /tmp of their own") {
  if (!has_namespaces()) return;
  std::string script = R"("$0" exec -r FIRST job -- unshare --mount sh -c '
      unset RLOCK_HELD; PRIVATE "$0" exec -n -E 42 -r local: job -- echo ran' "$0")";
  const auto with = [&](const std::string& what, const std::string& value) {
    return script.replace(script.find(what), what.size(), value);
  };
  SUBCASE("") {
    with("FIRST", "local:");
    with("PRIVATE", "mount -t tmpfs none /tmp;");
  }
  SUBCASE("whose server an older rlock has started") {
    with("FIRST", "local:/tmp/rlock-0");
    with("PRIVATE", "");
  }
  const Result result = run_apart(script);
  CAPTURE(result.err);
  CHECK(result.status == 42);
  CHECK(result.out.empty());
}

TEST_CASE("local: the redis-cli command that doctor prints reaches root's server") {
  if (!has_namespaces()) return;
  const Result result = run_apart(R"(
      "$0" exec -r local: --fence job -- sh -c '
          cli="redis-cli -s /run/rlock/redis.sock"
          counter=$($cli KEYS "redisson_lock_token:*")
          $cli PEXPIRE "$counter" 1000000 >/dev/null
          "$0" doctor -r local: job | sed -n "s/.*\(redis-cli.*PERSIST.*\)/\1/p" | sh
          $cli PTTL "$counter"' "$0")");
  CAPTURE(result.err);
  CHECK(result.out == "1\n-1\n");
}

TEST_CASE("local: a renewal that cannot start the server leaves time to end the command") {
  const Place place;
  Process holder(holder_argv(place, place.root() + "/mark"));
  holder.wait_for_stdout("ready");
  const pid_t server = server_of(place);
  ::kill(server, SIGKILL);
  const UniqueFd directory(::open(place.directory().c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(wait_until([&] { return ::flock(directory.get(), LOCK_EX | LOCK_NB) == 0; }));
  const Result result = holder.wait();
  CAPTURE(result.err);
  CHECK(result.status == 79);
  CHECK(result.out == "ready\nended\n");
  CHECK(has(result.err, "job: lock lost: cannot reach redis at " + place.url()));
  CHECK_FALSE(has(result.err, "stood still"));
}

TEST_CASE("local: the start of a server ends with the request's time, and when rlock is told to") {
  const Place place;
  fs::create_directory(place.directory());
  fs::permissions(place.directory(), fs::perms::owner_all);
  const UniqueFd directory(::open(place.directory().c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(directory.get(), LOCK_EX | LOCK_NB) == 0);
  const Result late = run(
      rlock_argv("exec", "--timeout", "300ms", "-r", place.url(), "job", "--", "true"), {}, 15s);
  CHECK(late.status == 69);
  CHECK(has(late.err, "300ms"));
  Process told(rlock_argv("exec", "--timeout", "1h", "-r", place.url(), "job", "--", "true"));
  REQUIRE(wait_until([&] { return sleeps_of(told.pid()) > 10; }));
  told.signal(SIGTERM);
  CHECK(told.wait().status == 128 + SIGTERM);
}

TEST_CASE("local: a server whose log is incomplete is not started, and one line says what to do") {
  const Place place;
  check_ran(run(echo_argv(place.url())));
  const pid_t server = server_of(place);
  ::kill(server, SIGKILL);
  REQUIRE(wait_until([&] { return !alive(server); }));
  const std::string log = place.directory() + "/appendonlydir";
  if (!fs::exists(log)) return;  // Redis before 7
  std::string end;
  SUBCASE("without its base") { end = ".base.rdb"; }
  SUBCASE("without its list") { end = ".manifest"; }
  for (const auto& entry : fs::directory_iterator(log)) {
    if (entry.path().string().ends_with(end)) fs::remove(entry);
  }
  const Result result = run(echo_argv(place.url()));
  CAPTURE(result.err);
  CHECK(result.status == 69);
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "remove " + log));
  fs::remove_all(log);
  check_ran(run(echo_argv(place.url())));
}

TEST_CASE("local: two runs never have the lock at once, whatever is removed") {
  const Place place;
  const std::string at = place.root() + "/";
  // A run that finds the directory of another notes it.
  const std::string command = "trap 'rmdir " + at + "mark; exit' TERM; mkdir " + at +
                              "mark || echo twice >>" + at + "twice\n" + "echo >>" + at +
                              "runs; sleep 0.1; rmdir " + at + "mark";
  std::deque<Process> runners;
  for (int i = 0; i < 3; ++i) {
    runners.emplace_back(Words{"sh", "-c",
                               R"(while [ ! -e "$2" ]; do "$0" exec -q --lease 3s --kill-after 1s )"
                               R"(--wait-server 60s -r "$3" job -- sh -c "$1"; done)",
                               rlock_program(), command, at + "stop", place.url()});
  }
  const auto runs = [&] { return contents(at + "runs").size(); };
  const auto goes_on = [&] {
    const std::size_t before = runs();
    return wait_until([&] { return runs() > before + 5; }, 90s);
  };
  REQUIRE(goes_on());
  for (const char* removed : {"/redis.sock", "", "/redis.sock", "/appendonlydir"}) {
    CAPTURE(removed);
    REQUIRE(wait_until([&] { return fs::exists(at + "mark"); }));
    fs::remove_all(place.directory() + removed);
    if (std::string(removed) == "/appendonlydir") fs::remove(place.directory() + "/redis.sock");
    REQUIRE(goes_on());
  }
  std::ofstream(at + "stop") << "";
  for (Process& runner : runners) static_cast<void>(runner.wait());
  CHECK_FALSE(fs::exists(at + "twice"));
}
