// What docs/choosing.md says that a lock survives, where no other test shows it.
// Labels: long unsanitized
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/quorum.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* k_token_key = "redisson_lock_token:{job}";

// A command line that holds the lock until its input ends.
Words until_told(Words argv, const Words& options) {
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"job", "--", "sh", "-c", "echo in; read x; echo out"});
  return argv;
}

// Runs that command. Server: of the lock.
struct Holder {
  explicit Holder(const Words& argv) : process(argv, {.stdin_text = "", .hold_stdin = true}) {
    process.wait_for_stdout("in");
  }
  static Holder of(const Server& server) {
    return Holder(
        until_told(rlock_argv("exec", "-r", server.unix_url()), {"--lease", "9s", "--fence"}));
  }
  static Holder of(const Quorum& quorum) {
    return Holder(until_told(quorum.rlock("exec", {}), {"--lease", "9s"}));
  }

  void check_ends_well() {
    process.close_stdin();
    const Result result = process.wait();
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.out == "in\nout\n");
    CHECK(result.err.empty());
  }
  void check_lost() {
    const Result result = process.wait();
    CAPTURE(result.err);
    CHECK(result.status == 79);
    CHECK(result.out == "in\n");
    CHECK(result.err.starts_with("rlock: job: lock lost: "));
  }

  Process process;
};

int taken_by_another(const Server& server) {
  return invoke(server.unix_url(), {"exec", "-q", "-n", "job", "--", "true"}).status;
}

// A server whose clock can be set. (faketime does not bear Redis' own allocator.)
class ClockServer {
 public:
  // Throws std::runtime_error where no compiler is installed.
  ClockServer() {
    set(0);
    const std::string source = directory_ + "/clock.cpp";
    std::ofstream(source) << R"(
      #include <fcntl.h>
      #include <stdlib.h>
      #include <sys/syscall.h>
      #include <sys/time.h>
      #include <time.h>
      #include <unistd.h>
      extern "C" int gettimeofday(timeval* now, void*) noexcept {
        timespec time;
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &time);
        char text[32] = {};
        const int fd = open(OFFSET, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, text, sizeof text - 1) < 0) abort();
        close(fd);
        now->tv_sec = time.tv_sec + atol(text);
        now->tv_usec = time.tv_nsec / 1000;
        return 0;
      })";
    const std::string library = directory_ + "/clock.so";
    const Result built =
        run({"c++", "-shared", "-fPIC", "-DOFFSET=\"" + offset() + "\"", "-o", library, source});
    if (built.status != 0) throw std::runtime_error(built.err);
    const std::string wrapper = directory_ + "/server";
    const char* program = std::getenv("RLOCK_TEST_SERVER");
    const std::string real = program != nullptr ? program : "redis-server";
    std::ofstream(wrapper) << "#!/bin/sh\nLD_PRELOAD='" << library << "' exec '" << real
                           << "' \"$@\"\n";
    std::filesystem::permissions(wrapper, std::filesystem::perms::owner_all);
    ::setenv("RLOCK_TEST_SERVER", wrapper.c_str(), 1);
    server_.emplace();
    program != nullptr ? ::setenv("RLOCK_TEST_SERVER", real.c_str(), 1)
                       : ::unsetenv("RLOCK_TEST_SERVER");
  }
  ~ClockServer() {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Sets the clock so many seconds ahead.
  void set(int seconds) const {
    std::ofstream(offset() + ".new") << seconds;
    std::filesystem::rename(offset() + ".new", offset());
  }
  [[nodiscard]] Server& server() { return *server_; }

 private:
  static std::string make_directory() {
    std::string path = std::filesystem::temp_directory_path() / "rlock-clock.XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp");
    return path;
  }
  [[nodiscard]] std::string offset() const { return directory_ + "/offset"; }

  std::string directory_ = make_directory();
  std::optional<Server> server_;
};

}  // namespace

TEST_CASE("choosing: a server that is killed and started again keeps what it wrote to a file") {
  Words args;
  bool is_kept = true;
  SUBCASE("nothing") { is_kept = false; }
  SUBCASE("every second") { args = {"--appendonly", "yes", "--appendfsync", "everysec"}; }
  SUBCASE("always") { args = {"--appendonly", "yes", "--appendfsync", "always"}; }
  Server server({.args = args});
  Holder holder = Holder::of(server);
  const std::string token = server.command({"GET", k_token_key});
  server.stop();
  server.start();
  if (is_kept) {
    CHECK(server.command({"GET", k_token_key}) == token);
    CHECK(taken_by_another(server) == 75);
    holder.check_ends_well();
    return;
  }
  CHECK(taken_by_another(server) == 0);  // two have had the lock
  holder.check_lost();
  // The token is higher all the same.
  const Result next =
      invoke(server.unix_url(), {"exec", "--fence", "job", "--", "sh", "-c", "echo $RLOCK_TOKEN"});
  CHECK(std::stoll(next.out) > std::stoll(token));
}

TEST_CASE("choosing: a server that evicts keys with an expiry gives a held lock to another") {
  Server server;
  Holder holder = Holder::of(server);
  server.command({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  CHECK(has(invoke(server.unix_url(), {"doctor"}).out, "eviction"));
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(wait_until([&] {
    server.command({"SET", "other", "x"});
    return server.command({"EXISTS", "job"}) == "0";
  }));
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  CHECK(taken_by_another(server) == 0);
  holder.check_lost();
}

TEST_CASE("choosing: a clock that jumps ahead ends the lease at one server, not at a majority") {
  ClockServer clock;
  SUBCASE("the only server") {
    Holder holder = Holder::of(clock.server());
    clock.set(60);
    CHECK(wait_until([&] { return clock.server().command({"EXISTS", "job"}) == "0"; }));
    CHECK(taken_by_another(clock.server()) == 0);
    holder.check_lost();
  }
  SUBCASE("one of three") {
    Server second, third;
    Words argv = rlock_argv("exec", "--restart-delay", "0");
    for (const Server* server : {&clock.server(), &second, &third}) {
      argv.insert(argv.end(), {"-r", server->unix_url()});
    }
    Words another = argv;
    another.insert(another.end(), {"-q", "-n", "job", "--", "true"});
    Holder holder(until_told(argv, {"--lease", "9s"}));
    clock.set(60);
    CHECK(run(another).status == 75);
    // It is given the lock again.
    CHECK(wait_until([&] { return clock.server().command({"EXISTS", "job"}) == "1"; }));
    CHECK(run(another).status == 75);
    holder.check_ends_well();
  }
}

TEST_CASE("choosing: a server whose clock was set back since its start counts as just started") {
  ClockServer clock;
  const Server other;
  clock.set(-3600);
  REQUIRE(wait_until([&] {
    return has(clock.server().command({"INFO", "server"}), "uptime_in_seconds:-");
  }));
  const auto exec = [&](const char* delay) {
    return run(rlock_argv("exec", "-q", "-r", clock.server().unix_url(), "-r", other.unix_url(),
                          "--restart-delay", delay, "job", "--", "echo", "ran"));
  };
  const Result granted = exec("0");
  CAPTURE(granted.err);
  CHECK(granted.status == 0);
  CHECK(granted.out == "ran\n");
  const Result refused = exec("24h");
  CAPTURE(refused.err);
  CHECK(refused.status == 69);
  CHECK(has(refused.err,
            ": may have started within the last 1d00h and may have forgotten a lock: no vote yet; "
            "try again in "));
  const Result doctor = invoke(clock.server().unix_url(), {"doctor"});
  CHECK(has(doctor.out, "the server's clock was set back by "));
  CHECK(has(doctor.out, " or more, so the server cannot tell how long it has been up: "));
  // Its uptime tells nothing for an hour, but it has been met: for 2 s, and not for a day.
  CHECK(wait_until([&] { return exec("2s").status == 0; }));
  CHECK(exec("24h").status == 69);
  clock.set(-7200);
  CHECK(wait_until([&] { return exec("2s").status == 0; }));
}

TEST_CASE("choosing: what happens to the keys of a minority does the lock no harm") {
  Quorum quorum(3);
  std::function<void(Server&)> strike;
  SUBCASE("deleted") {
    strike = [](Server& server) { server.command({"DEL", "job"}); };
  }
  SUBCASE("flushed") {
    strike = [](Server& server) { server.command({"FLUSHALL"}); };
  }
  SUBCASE("evicted") {
    strike = [](Server& server) {
      server.command({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
      server.command({"CONFIG", "SET", "maxmemory", "1"});
      server.command({"SET", "other", "x"});
      server.command({"CONFIG", "SET", "maxmemory", "0"});
    };
  }
  Holder holder = Holder::of(quorum);
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  strike(quorum[1]);
  CHECK(run(quorum.rlock("exec", {"-q", "-n", "job", "--", "true"})).status == 75);
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));  // it is given the lock again
  holder.check_ends_well();
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("choosing: servers without memory grant nothing, and go on with what is held") {
  Quorum quorum(3);
  Holder holder = Holder::of(quorum);
  CHECK(wait_until([&] { return quorum.having("job") == 3; }));
  const auto fill = [&](int i) { quorum[i].command({"CONFIG", "SET", "maxmemory", "1"}); };
  const Words other = quorum.rlock("exec", {"-n", "other", "--", "true"});
  fill(0);
  CHECK(run(other).status == 0);
  fill(1);
  const Result refused = run(other);
  CHECK(refused.status == 69);
  CHECK(has(refused.err, "OOM"));
  for (int i = 0; i < 2; ++i) wait_for_renewal(quorum[i]);
  holder.check_ends_well();
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("choosing: waiters of several servers outlive the loss of their subscriptions") {
  Quorum quorum(3);
  Holder holder = Holder::of(quorum);
  Process waiter(quorum.rlock("exec", {"job", "--", "echo", "got"}));
  const auto listen = [&] {
    for (int i = 0; i < 3; ++i) {
      if (listeners(quorum[i], "redisson_lock__channel:{job}") != 1) return false;
    }
    return true;
  };
  CHECK(wait_until(listen));
  for (int i = 0; i < 3; ++i) quorum[i].command({"CLIENT", "KILL", "TYPE", "pubsub"});
  CHECK(wait_until(listen));
  holder.check_ends_well();
  const Result result = waiter.wait();
  CHECK(result.status == 0);
  CHECK(result.out == "got\n");
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("choosing: kill -9 of the command gives the lock back at once") {
  Words argv = rlock_argv("exec");
  Quorum quorum(3);
  SUBCASE("one server") { argv = rlock_argv("exec", "-r", quorum[0].unix_url()); }
  SUBCASE("several servers") { argv = quorum.rlock("exec", {}); }
  argv.insert(argv.end(), {"--lease", "1h", "job", "--", "sh", "-c", "kill -9 $$"});
  CHECK(run(argv).status == 128 + SIGKILL);
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("choosing: --sync-replicas grants only what replicas know of") {
  Server master;
  const Words exec = {"exec", "--timeout", "2s", "--sync-replicas", "1", "job", "--", "echo", "in"};
  const Result alone = invoke(master.unix_url(), exec);
  CHECK(alone.status == 69);
  CHECK(alone.out.empty());
  CHECK(std::count(alone.err.begin(), alone.err.end(), '\n') == 1);
  CHECK(master.command({"EXISTS", "job"}) == "0");

  master.command({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
  Server replica({.args = {"--replicaof", "127.0.0.1 " + std::to_string(master.port())}});
  CHECK(wait_until([&] { return has(master.command({"INFO", "replication"}), "state=online"); }));
  Holder holder(until_told(rlock_argv("exec", "-r", master.unix_url()),
                           {"--sync-replicas", "1", "--lease", "9s"}));
  CHECK(replica.command({"EXISTS", "job"}) == "1");
  replica.command({"REPLICAOF", "NO", "ONE"});
  CHECK(taken_by_another(replica) == 75);
  holder.check_ends_well();
}

TEST_CASE("choosing: where a whole machine stands still for longer than the lease, --fence holds") {
  Server server;
  const std::string mark = "frozen-" + server.directory();
  Process frozen(rlock_argv("exec", "-r", server.unix_url(), "--lease", "6s", "--fence", "job",
                            "--", "sh", "-c",
                            "echo in; read x; " + rlock_program() + " fence -r " +
                                server.unix_url() + " job $RLOCK_TOKEN && echo written"),
                 {.env = {{"MARK", mark}}, .stdin_text = "", .hold_stdin = true});
  frozen.wait_for_stdout("in");
  const auto all = processes_with(mark);
  CHECK(all.size() >= 3);  // rlock, its guardian, the command
  for (const pid_t pid : all) ::kill(pid, SIGSTOP);
  frozen.write_stdin("go\n");
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  const Result next =
      invoke(server.unix_url(),
             {"exec", "--fence", "job", "--", "sh", "-c",
              rlock_program() + " fence -r " + server.unix_url() + " job $RLOCK_TOKEN && echo in"});
  CHECK(next.status == 0);
  CHECK(next.out == "in\n");
  for (const pid_t pid : all) ::kill(pid, SIGCONT);
  const Result late = frozen.wait();
  CHECK(late.status != 0);
  CHECK(late.out == "in\n");
  CHECK(processes_with(mark).empty());
}

TEST_CASE(
    "choosing: nobody ends the command of an rlock that was killed together with its guardian") {
  Server server;
  const std::string mark = "unguarded-" + server.directory();
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "6s", "job", "--", "sh",
                           "-c", "echo in $$; exec sleep 600"),
                {.env = {{"MARK", mark}}});
  rlock.wait_for_stdout("\n");
  const pid_t command = std::stoi(rlock.out().substr(3));
  auto others = processes_with(mark);
  std::erase(others, command);
  CHECK(others.size() == 2);  // rlock and its guardian; neither is to see the other's end
  for (const pid_t pid : others) ::kill(pid, SIGSTOP);
  for (const pid_t pid : others) ::kill(pid, SIGKILL);
  CHECK(wait_until([&] { return processes_with(mark) == std::vector<pid_t>{command}; }));
  CHECK(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  CHECK(taken_by_another(server) == 0);
  CHECK(alive(command));  // what a lease cannot do
  kill_processes_with(mark);
}
