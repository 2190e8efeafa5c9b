// S1, S3, S4 and S5: what happens to the command when its lock cannot be counted on any longer.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

// The reply to CLIENT SETNAME, before all others.
const std::size_t k_name_reply = std::string_view("+OK\r\n").size();

const std::string k_thief = "11111111-2222-4333-8444-555555555555:7";

void wait_for_renewal(const Server& server) {
  long before = pttl(server);
  REQUIRE(wait_until([&] {
    const long now = pttl(server);
    const bool grew = now > before;
    before = now;
    return grew;
  }));
}

// A command under `rlock exec` that starts a family: in its group, deaf to SIGTERM, and daemons in
// sessions of their own, one with an empty environment. Each member writes its name and the time to
// a log as often as it can, so that nobody can live unnoticed.
class Family {
 public:
  Family(const Server& server, const std::string& url, const std::vector<std::string>& options)
      : log_(server.directory() + "/beats"), mark_("family-" + server.directory()) {
    const std::string beat = write_beat_script(server);
    // A shell whose child is killed before itself says so on stderr, where only rlock is to speak.
    const std::string script = "exec 2>/dev/null; sh " + beat + " child & sh " + beat +
                               " deaf deaf & (setsid sh " + beat +
                               " daemon deaf &) ; (env -i LOG=\"$LOG\" setsid sh " + beat +
                               " bare deaf &) ; exec sh " + beat + " main";
    std::vector<std::string> argv = rlock_argv("exec", "-r", url);
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), {"job", "--", "sh", "-c", script});
    rlock_ =
        std::make_unique<Process>(argv, ProcessOptions{.env = {{"LOG", log_}, {"MARK", mark_}}});
    REQUIRE(wait_until([&] {
      const std::string text = log();
      for (const char* name : {"child ", "deaf ", "daemon ", "bare ", "main "}) {
        if (text.find(name) == std::string::npos) return false;
      }
      return true;
    }));
  }

  [[nodiscard]] Process& rlock() { return *rlock_; }
  [[nodiscard]] std::vector<pid_t> alive() const {
    std::vector<pid_t> found = processes_with(mark_);
    const std::vector<pid_t> bare = processes_with(log_);
    found.insert(found.end(), bare.begin(), bare.end());
    return found;
  }
  // When the last of the family was seen.
  [[nodiscard]] double last_beat() const {
    std::istringstream text(log());
    double last = 0;
    std::string name;
    double when = 0;
    while (text >> name >> when) last = std::max(last, when);
    return last;
  }

 private:
  [[nodiscard]] std::string log() const {
    std::ostringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }

  std::string log_;
  std::string mark_;
  std::unique_ptr<Process> rlock_;
};

// Takes the server away with `cut` right after a renewal. Returns until when, on the clock of
// uptime(), the server holds the key at most: never too early, however slow this process is.
double cut_off(const Server& server, double lease, const std::function<void()>& cut) {
  wait_for_renewal(server);
  const double before = uptime();
  const double left = static_cast<double>(pttl(server)) / 1000;
  const double asked = uptime();
  cut();
  const double after = uptime();
  // Between two renewals lies a third of the lease: here no other came before the cut.
  const bool in_time = left > lease * 5 / 6 && after - before < lease / 6;
  return (in_time ? asked + left : after + lease) + 0.01;
}

std::string go_file(const Server& server) { return server.directory() + "/go"; }

void say_go(const Server& server) { std::ofstream(go_file(server)) << "go"; }

// A command that runs until say_go(), and then ends with this status.
std::string until_go(const Server& server, int status) {
  return "echo started; while [ ! -e " + go_file(server) + " ]; do sleep 0.02; done; exit " +
         std::to_string(status);
}

void steal(const Server& server, const std::string& name = "job") {
  server.command({"DEL", name});
  server.command({"HSET", name, k_thief, "1"});
  server.command({"PEXPIRE", name, "600000"});
}

// Where a reply was lost, a latch that ends by itself may stay.
bool released(const Server& server) {
  return wait_until([&] { return server.command({"EXISTS", "job", "rlock_info:{job}"}) == "0"; });
}

bool only_the_thief_is_left(const Server& server) {
  const auto ours = [](const std::string& key) {
    return key != "job" && key != "rlock_info:{job}";  // the latter ends by itself
  };
  return wait_until([&] {
           const auto keys = server.keys();
           return std::none_of(keys.begin(), keys.end(), ours);
         }) &&
         server.command({"HGETALL", "job"}) == k_thief + "\n1" && pttl(server) > 300'000;
}

}  // namespace

TEST_CASE("S3: when the server goes away, all that CMD started is dead before the lease ends") {
  Server server;
  const auto proxy = std::make_unique<Proxy>(server.port());
  std::function<void()> cut;
  SUBCASE("killed") {
    cut = [&] { server.stop(); };
  }
  SUBCASE("paused") {
    cut = [&] { server.pause(); };
  }
  SUBCASE("black hole") {
    cut = [&] { proxy->set_mode(Mode::blackhole); };
  }
  SUBCASE("connections refused") {
    cut = [&] { proxy->set_mode(Mode::refuse); };
  }

  Family family(server, proxy->url(), {"--lease", "3s", "--timeout", "1s"});
  const double lease_end = cut_off(server, 3, cut);
  const Result result = family.rlock().wait_exit();
  CHECK(family.alive().empty());
  CHECK(result.status == 79);
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: job: lock lost: "));
  CHECK(family.last_beat() < lease_end);
  server.resume();
}

TEST_CASE("S1: the deadline counts from before the request: slow replies do not make it later") {
  Server server;
  Proxy proxy(server.port());
  proxy.set_delay(350ms);  // longer than what lies between SIGKILL and the lease's end
  Family family(server, proxy.url(), {"--lease", "3s", "--kill-after", "50ms"});
  wait_for_renewal(server);
  const double lease_end = cut_off(server, 3, [&] { proxy.set_mode(Mode::blackhole); });
  const Result result = family.rlock().wait_exit();
  CHECK(family.alive().empty());
  CHECK(result.status == 79);
  CHECK(family.last_beat() < lease_end);
}

TEST_CASE("S1: a command is not started when replies take longer than the lease") {
  Server server;
  Proxy proxy(server.port());
  proxy.set_delay(500ms);
  const Result result = run(rlock_argv("exec", "-r", proxy.url(), "--lease", "300ms", "job", "--",
                                       "touch", go_file(server)));
  CHECK(result.status == 69);
  CAPTURE(result.err);
  CHECK(result.err.find("longer than the lease") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(go_file(server)));
  CHECK(released(server));
}

TEST_CASE("S2: a command is not started on a grant that has ended while rlock was stopped") {
  Server server;
  // The server knows the script from now on: the first long reply is the grant.
  REQUIRE(run(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "true")).status == 0);
  Proxy proxy(server.port());
  proxy.set_delay(500ms);
  Process rlock(rlock_argv("exec", "-n", "-r", proxy.url(), "--lease", "1s", "job", "--", "touch",
                           go_file(server)));
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  proxy.set_mode(Mode::blackhole);
  // Where this process was too slow to keep the grant back, the command runs rightly.
  if (proxy.bytes_to_client() > k_name_reply) return;
  rlock.signal(SIGSTOP);
  REQUIRE(wait_until([&] { return stopped(rlock.pid()); }));
  proxy.set_mode(Mode::pass);
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
  steal(server);
  rlock.signal(SIGCONT);
  const Result result = rlock.wait();
  CHECK((result.status == 75 || result.status == 79));
  CHECK_FALSE(std::filesystem::exists(go_file(server)));
  CHECK(only_the_thief_is_left(server));
}

TEST_CASE("S3: an outage that ends before the deadline does no harm") {
  Server server;
  Proxy proxy(server.port());
  Mode mode = Mode::refuse;
  SUBCASE("refused") {}
  SUBCASE("black hole") { mode = Mode::blackhole; }
  SUBCASE("lost replies") { mode = Mode::swallow_replies; }

  Process rlock(rlock_argv("exec", "-r", proxy.url(), "--lease", "6s", "--kill-after", "100ms",
                           "--timeout", "700ms", "job", "--", "sh", "-c", until_go(server, 5)));
  rlock.wait_for_stdout("started");
  wait_for_renewal(server);
  const std::size_t before = proxy.connections();
  proxy.set_mode(mode);
  REQUIRE(wait_until([&] { return proxy.connections() > before + 1; }));  // it has tried again
  proxy.cut();
  proxy.set_mode(Mode::pass);
  wait_for_renewal(server);
  say_go(server);
  const Result result = rlock.wait();
  CHECK(result.status == 5);
  CAPTURE(result.err);
  CHECK(result.err.empty());
  CHECK(released(server));
}

TEST_CASE("S3: a server that is restarted with its data does no harm") {
  Server server({.args = {"--appendonly", "yes", "--appendfsync", "always"}});
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "9s", "--kill-after",
                           "100ms", "job", "--", "sh", "-c", until_go(server, 0)));
  rlock.wait_for_stdout("started");
  server.stop();
  server.start();
  wait_for_renewal(server);
  say_go(server);
  const Result result = rlock.wait();
  CHECK(result.status == 0);
  CAPTURE(result.err);
  CHECK(result.err.empty());
  CHECK(released(server));
}

TEST_CASE("S3: flushed scripts and killed connections do no harm") {
  Server server;
  Process rlock(rlock_argv("exec", "-r", server.tcp_url(), "--lease", "3s", "--kill-after", "100ms",
                           "job", "--", "sh", "-c", until_go(server, 0)));
  rlock.wait_for_stdout("started");
  for (int i = 0; i < 2; ++i) {
    server.command({"SCRIPT", "FLUSH"});
    server.command({"CLIENT", "KILL", "TYPE", "normal"});
    wait_for_renewal(server);
  }
  server.command({"SCRIPT", "FLUSH"});
  server.command({"CLIENT", "KILL", "TYPE", "normal"});
  say_go(server);
  const Result result = rlock.wait();
  CHECK(result.status == 0);
  CAPTURE(result.err);
  CHECK(result.err.empty());
  CHECK(released(server));
}

TEST_CASE("S4: a lock that is lost ends the command and its family at once, with status 79") {
  Server server;
  std::function<void()> take_away;
  SUBCASE("deleted by hand") {
    take_away = [&] { server.command({"DEL", "job"}); };
  }
  SUBCASE("forced") {
    take_away = [&] {
      CHECK(run(rlock_argv("unlock", "-r", server.unix_url(), "--force", "job")).status == 0);
    };
  }
  SUBCASE("all keys flushed") {
    take_away = [&] { server.command({"FLUSHALL"}); };
  }
  SUBCASE("replaced by a string") {
    take_away = [&] { server.command({"SET", "job", "x"}); };
  }
  SUBCASE("stolen") {
    take_away = [&] { steal(server); };
  }

  Family family(server, server.unix_url(), {"--lease", "3s", "--kill-after", "100ms"});
  take_away();
  const Result result = family.rlock().wait_exit();
  CHECK(family.alive().empty());
  CHECK(result.status == 79);
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: job: lock lost: "));
  INFO(result.err);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

TEST_CASE("S4: a server that comes back without its data means that the lock is lost") {
  Server server;
  Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "3s", "--kill-after",
                           "100ms", "job", "--", "sleep", "1000"));
  REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
  server.stop();
  server.start();
  const Result result = rlock.wait();
  CHECK(result.status == 79);
  CAPTURE(result.err);
  CHECK(result.err.starts_with("rlock: job: lock lost: "));
}

TEST_CASE("S4: of several locks, the loss of any one counts") {
  Server server;
  for (const char* lost : {"a", "b"}) {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "3s", "--kill-after",
                             "100ms", "a", "b", "--", "sh", "-c", "echo started; exec sleep 1000"));
    rlock.wait_for_stdout("started");
    server.command({"DEL", lost});
    const Result result = rlock.wait();
    CHECK(result.status == 79);
    CAPTURE(result.err);
    CHECK(result.err.starts_with("rlock: " + std::string(lost) + ": lock lost: "));
    // The other lock is given back.
    CHECK(wait_until([&] { return server.command({"EXISTS", "a", "b"}) == "0"; }));
  }
}

TEST_CASE("S4: --on-lost says what happens to the command") {
  Server server;
  const std::string trap = "trap 'echo TERM; exit 0' TERM; echo started; ";
  const std::string loop = "while [ ! -e " + go_file(server) + " ]; do sleep 0.02; done; echo done";
  std::string lease = "3s";
  const auto start = [&](const std::string& action, const std::string& script) {
    auto rlock =
        std::make_unique<Process>(rlock_argv("exec", "-r", server.unix_url(), "--lease", lease,
                                             "--on-lost", action, "job", "--", "sh", "-c", script));
    rlock->wait_for_stdout("started");
    server.command({"DEL", "job"});
    return rlock;
  };

  SUBCASE("term: SIGTERM comes first") {
    lease = "4s";  // time enough for the trap before SIGKILL
    const Result result = start("term", trap + loop)->wait();
    CHECK(result.out == "started\nTERM\n");
    CHECK(result.status == 79);
  }
  SUBCASE("term: SIGKILL follows where SIGTERM is ignored") {
    const Result result = start("term", "trap '' TERM; echo started; " + loop)->wait();
    CHECK(result.out == "started\n");
    CHECK(result.status == 79);
  }
  SUBCASE("kill: SIGKILL at once") {
    const Result result = start("kill", trap + loop)->wait();
    CHECK(result.out == "started\n");
    CHECK(result.status == 79);
  }
  SUBCASE("ignore: the command ends by itself, and the loss is told") {
    const auto rlock = start("ignore", trap + loop);
    steal(server);
    // Longer than a lease that nobody renews.
    REQUIRE(wait_until([&, t = uptime()] { return uptime() > t + 3.2; }));
    CHECK(rlock->running());
    say_go(server);
    const Result result = rlock->wait();
    CHECK(result.out == "started\ndone\n");
    CHECK(result.status == 79);
    CAPTURE(result.err);
    CHECK(result.err.starts_with("rlock: job: lock lost: "));
    CHECK(only_the_thief_is_left(server));
  }
}

TEST_CASE("S5: whoever has the lock after us keeps it untouched") {
  Server server;
  SUBCASE("when a renewal notices the loss") {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "3s", "job", "--", "sh",
                             "-c", "echo started; exec sleep 1000"));
    rlock.wait_for_stdout("started");
    steal(server);
    CHECK(rlock.wait().status == 79);
    CHECK(only_the_thief_is_left(server));
  }
  SUBCASE("when the command ends before a renewal notices it") {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "60s", "job", "--", "sh",
                             "-c", until_go(server, 0)));
    rlock.wait_for_stdout("started");
    steal(server);
    say_go(server);
    const Result result = rlock.wait();
    CHECK(result.status == 79);  // it was lost while CMD ran
    CAPTURE(result.err);
    CHECK(result.err.starts_with("rlock: job: lock lost: "));
    CHECK(only_the_thief_is_left(server));
  }
  SUBCASE("when the command ends with --at-least") {
    Process rlock(rlock_argv("exec", "-r", server.unix_url(), "--lease", "60s", "--at-least", "1s",
                             "job", "--", "sh", "-c", until_go(server, 0)));
    rlock.wait_for_stdout("started");
    steal(server);
    say_go(server);
    rlock.wait();
    CHECK(only_the_thief_is_left(server));
  }
  SUBCASE("when the next owner is in the queue of a lock that rlock lost in an outage") {
    Proxy proxy(server.port());
    Process rlock(rlock_argv("exec", "-r", proxy.url(), "--lease", "3s", "--timeout", "1s", "job",
                             "--", "sh", "-c", "echo started; exec sleep 1000"));
    rlock.wait_for_stdout("started");
    proxy.set_mode(Mode::blackhole);
    CHECK(rlock.wait().status == 79);
    REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "0"; }));
    steal(server);
    proxy.set_mode(Mode::pass);  // what was under way arrives now
    CHECK(only_the_thief_is_left(server));
  }
}
