// Output to a pipe that another process has made non-blocking, or that nobody reads: nothing is
// cut, and signals act.
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "cli/inspection/list_fixture.hpp"
#include "support/fd.hpp"
#include "support/foreign_owner.hpp"
#include "support/invoke.hpp"
#include "support/wait_until.hpp"

using namespace rlock::test;

namespace {

constexpr int k_locks = 3000;
const std::string k_queue = "redisson_lock_queue:{job}";

// A pipe whose writers share one open file.
class Pipe {
 public:
  explicit Pipe(int flags) {
    int ends[2] = {-1, -1};
    REQUIRE(::pipe(ends) == 0);
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    ::fcntl(ends[1], F_SETFL, O_WRONLY | flags);
    read_ = UniqueFd(ends[0]);
    write_ = UniqueFd(ends[1]);
  }

  // Returns the command line that runs rlock with the pipe as `stream`, "1" or "2".
  [[nodiscard]] Words as(const char* stream, const Words& rlock) const {
    const std::string fd = std::to_string(write_.get());
    Words argv = {"sh", "-c", std::string("exec \"$@\" ") + stream + ">&" + fd + " " + fd + ">&-",
                  "sh"};
    argv.insert(argv.end(), rlock.begin(), rlock.end());
    return argv;
  }

  void fill(std::size_t room) const {
    const int size = ::fcntl(write_.get(), F_GETPIPE_SZ);
    const std::string text(static_cast<std::size_t>(size) - room, '.');
    REQUIRE(::write(write_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  [[nodiscard]] bool gets_full() const {
    return wait_until([&] {
      int bytes = 0;
      ::ioctl(read_.get(), FIONREAD, &bytes);
      return bytes > ::fcntl(read_.get(), F_GETPIPE_SZ) - 2 * 4096;
    });
  }

  // Closes the end for writing, and returns all that is written until nobody else has it, either.
  std::string read_all() {
    write_.reset();
    std::string text;
    std::string part(1000, '\0');
    for (ssize_t got = 0; (got = ::read(read_.get(), part.data(), part.size())) > 0;) {
      text.append(part, 0, static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  UniqueFd read_;
  UniqueFd write_;
};

void hold_many(const Server& server) {
  lists::fill(
      server, k_locks,
      "'hset', 'a-lock-with-a-long-name-' .. i, '" + std::string(k_foreign_owner) + "', '1'");
}

void queue_many(const Server& server) {
  lists::hold(server, "job");
  lists::fill(server, k_locks, "'rpush', '" + k_queue + "', 'waiter-' .. i .. ':1'");
}

}  // namespace

TEST_CASE("what is printed to a non-blocking stdout is whole") {
  const Server server;
  Words command;
  SUBCASE("a list") {
    hold_many(server);
    command = {"list"};
  }
  SUBCASE("a list as JSON") {
    hold_many(server);
    command = {"list", "--json"};
  }
  SUBCASE("the findings of doctor") {
    hold_many(server);
    command = {"doctor"};
  }
  SUBCASE("a queue") {
    queue_many(server);
    command = {"inspect-queue", "job"};
  }
  SUBCASE("a queue as JSON") {
    queue_many(server);
    command = {"inspect-queue", "--json", "job"};
  }
  SUBCASE("events") {
    queue_many(server);
    command = {"watch", "--for", "0", "job"};
  }
  const std::string expected = invoke(server, command).out;
  Pipe pipe(O_NONBLOCK);
  Process rlock(pipe.as("1", argv_for(server, command)));
  const bool is_long = expected.size() > 70'000;
  if (is_long) REQUIRE(pipe.gets_full());
  const std::string text = pipe.read_all();
  const Result result = rlock.wait();
  CHECK(result.status == invoke(server, command).status);
  CHECK(result.err.empty());
  // Times in it differ.
  CHECK(lists::lines_of(text).size() == lists::lines_of(expected).size());
  CHECK(text.ends_with("\n"));
}

TEST_CASE("watch goes on when a non-blocking stdout is read again") {
  const Server server;
  Pipe pipe(O_NONBLOCK);
  pipe.fill(0);
  Process watch(pipe.as("1", argv_for(server, {"watch", "--until", "held", "job"})));
  // It has asked for the state.
  REQUIRE(wait_until([&] {
    const std::string asked = server.command({"INFO", "commandstats"});
    return has(asked, "cmdstat_eval:") || has(asked, "cmdstat_eval_ro:");
  }));
  queue_many(server);
  CHECK(pipe.read_all().find("job is free") != std::string::npos);
  CHECK(watch.wait().status == 0);
}

TEST_CASE("a message to a non-blocking stderr with little room is whole") {
  const Server server;
  const std::string name(1024, '\x01');  // shown as four characters each
  lists::hold(server, name);
  Pipe pipe(O_NONBLOCK);
  pipe.fill(4096);
  Process rlock(pipe.as("2", argv_for(server, {"exec", "-w", "300ms", name, "--", "true"})));
  REQUIRE(pipe.gets_full());
  const std::string text = pipe.read_all();
  CHECK(rlock.wait().status == 75);
  CHECK(text.find(k_foreign_owner) != std::string::npos);
  CHECK(text.ends_with("\n"));
}

TEST_CASE("what is said to a slow reader of stderr is whole where no lock has to be renewed") {
  const Server server;
  server.command({"HSET", "job", "mode", "read"});
  server.command({"PEXPIRE", "job", "3599000"});
  lists::fill(server, k_locks, "'hset', 'job', '" + k_foreign_client + ":' .. i, '1'");
  const Words command = {"unlock", "--force", "-y", "job"};
  for (const int flags : {0, O_NONBLOCK}) {
    CAPTURE(flags);
    server.command({"COPY", "job", "again"});
    Pipe pipe(flags);
    Process unlock(pipe.as("2", argv_for(server, command)));
    REQUIRE(pipe.gets_full());
    // It waits, for longer than exec would.
    CHECK_FALSE(wait_until([&] { return !unlock.running(); }, std::chrono::milliseconds(500)));
    const std::string text = pipe.read_all();
    CHECK(unlock.wait().status == 0);
    CHECK(lists::lines_of(text).size() == k_locks);
    server.command({"RENAME", "again", "job"});
  }
  const Pipe pipe(0);
  Process unlock(pipe.as("2", argv_for(server, command)));
  REQUIRE(pipe.gets_full());
  unlock.signal(SIGTERM);
  CHECK(unlock.wait().status == 128 + SIGTERM);
}

TEST_CASE("exec loses a message that stderr does not take, and goes on") {
  const Server server;
  lists::hold(server, "job");
  const Pipe pipe(0);
  pipe.fill(0);
  Process rlock(pipe.as("2", argv_for(server, {"exec", "-n", "job", "--", "true"})));
  CHECK(rlock.wait().status == 75);
}

TEST_CASE("watch, which reads signals itself, ends although nobody reads why") {
  const Pipe pipe(0);
  pipe.fill(0);
  Process watch(pipe.as("2", argv_for("unix:///nonexistent", {"watch", "job"})));
  CHECK(watch.wait().status == 69);
}

TEST_CASE("SIGTERM ends rlock although nobody reads its stdout") {
  const Server server;
  hold_many(server);
  for (const int flags : {0, O_NONBLOCK}) {
    CAPTURE(flags);
    const Pipe pipe(flags);
    Process list(pipe.as("1", argv_for(server, {"list"})));
    REQUIRE(pipe.gets_full());
    list.signal(SIGTERM);
    CHECK(list.wait().status == 128 + SIGTERM);
  }
}

TEST_CASE("acquire that nobody reads gives its lock back at SIGTERM") {
  const Server server;
  Words options;
  SUBCASE("without a watchdog") { options = {"acquire", "--no-watchdog", "job"}; }
  SUBCASE("with a watchdog") { options = {"acquire", "--pid", std::to_string(::getpid()), "job"}; }
  for (const int flags : {0, O_NONBLOCK}) {
    CAPTURE(flags);
    const Pipe pipe(flags);
    pipe.fill(0);
    Process acquire(pipe.as("1", argv_for(server, options)));
    REQUIRE(wait_until([&] { return server.command({"EXISTS", "job"}) == "1"; }));
    acquire.signal(SIGTERM);
    CHECK(acquire.wait().status == 128 + SIGTERM);
    CHECK(comes_to_be_empty(server));
  }
}
