// Readers and writers: Java's RReadWriteLock and rlock's -s and -x.
#include <chrono>
#include <csignal>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "fleet.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const Lock k_read{"read", "job"};
const Lock k_write{"write", "job"};

// A command under `rlock exec -x` that starts another under a nested `rlock exec -s`, and ends:
// that one reads on until stop().
class Downgraded {
 public:
  explicit Downgraded(const Server& server) : directory_(server.directory()) {
    const std::string script =
        "\"$RLOCK\" exec -s --lease 10m job -- sh -c 'touch \"$DIR/reads\"; while [ ! -e "
        "\"$DIR/stop\" ]; do sleep 0.02; done; rm \"$DIR/stop\"' > /dev/null 2>&1 & "
        "echo writes; read -r line; while [ ! -e \"$DIR/reads\" ]; do sleep 0.02; done; rm "
        "\"$DIR/reads\"";
    process_ = std::make_unique<Process>(
        rlock_argv("exec", "-x", "--lease", "10m", "job", "--", "sh", "-c", script),
        ProcessOptions{.env = {{"RLOCK", rlock_program()},
                               {"RLOCK_REDIS", server.unix_url()},
                               {"DIR", directory_}},
                       .hold_stdin = true});
    process_->wait_for_stdout("writes");
  }
  void end_writing() {
    process_->write_stdin("\n");
    const Result result = process_->wait_exit();
    CHECK(result.status == 0);
    CHECK(result.err.empty());
  }
  void stop() const { std::ofstream(directory_ + "/stop") << "stop"; }

 private:
  std::string directory_;
  std::unique_ptr<Process> process_;
};

}  // namespace

TEST_CASE_FIXTURE(Fleet, "readers share, a writer is alone, and who waits is woken: all pairings") {
  for (const Side holding : {Side::java, Side::rlock}) {
    for (const Lock& held : {k_read, k_write}) {
      for (const Side waiting : {Side::java, Side::rlock}) {
        for (const Lock& wanted : {k_read, k_write}) {
          CAPTURE(side_name(holding));
          CAPTURE(held.kind);
          CAPTURE(side_name(waiting));
          CAPTURE(wanted.kind);
          const bool shares = held.kind == "read" && wanted.kind == "read";
          const std::unique_ptr<Client> holder = client(holding, held);
          REQUIRE(holder->gets_it());
          CHECK(java_try(wanted) == (shares ? "true" : "false"));
          CHECK(rlock_try(wanted) == (shares ? 0 : 75));
          const std::unique_ptr<Client> waiter = client(waiting, wanted);
          if (!shares) {
            REQUIRE(come_to_wait(wanted));
            CHECK_FALSE(waiter->has_it());
            // The leases go on for minutes: it is the message that wakes.
            holder->release();
          }
          REQUIRE(waiter->gets_it());
          CHECK(java_try(k_write) == "false");
          CHECK(rlock_try(k_write) == 75);
          if (shares) holder->release();
          CHECK(java_try(k_write) == "false");
          CHECK(rlock_try(k_write) == 75);
          waiter->release();
          CHECK(server().command({"EXISTS", "job"}) == "0");
        }
      }
    }
  }
}

TEST_CASE_FIXTURE(Fleet, "the first reader to leave takes nothing from the others: either order") {
  for (const Side first : {Side::java, Side::rlock}) {
    for (const Side second : {Side::java, Side::rlock}) {
      for (const Side waiting : {Side::java, Side::rlock}) {
        CAPTURE(side_name(first));
        CAPTURE(side_name(second));
        CAPTURE(side_name(waiting));
        const std::unique_ptr<Client> one = client(first, k_read);
        REQUIRE(one->gets_it());
        const std::unique_ptr<Client> other = client(second, k_read);
        REQUIRE(other->gets_it());
        const nlohmann::json seen = inspect(k_read);
        CHECK(seen["kind"] == "read-write");
        CHECK(seen["holders"].size() == 2);
        CHECK(seen["problems"].empty());
        const std::unique_ptr<Client> writer = client(waiting, k_write);
        REQUIRE(come_to_wait(k_write));
        one->release();
        CHECK(rlock_try(k_write) == 75);
        CHECK(java_try(k_write) == "false");
        CHECK(pttl(server()) > k_long_lease_ms / 2);
        CHECK_FALSE(writer->has_it());
        other->release();
        REQUIRE(writer->gets_it());
        writer->release();
      }
    }
  }
}

TEST_CASE_FIXTURE(Fleet, "a writer of rlock that ends lets all waiting readers of a JVM in") {
  const std::unique_ptr<Client> writer = client(Side::rlock, k_write);
  REQUIRE(writer->gets_it());
  std::vector<std::unique_ptr<Client>> readers;
  for (const Side side : {Side::java, Side::java, Side::java, Side::rlock, Side::rlock}) {
    readers.push_back(client(side, k_read));
  }
  REQUIRE(come_to_wait(k_read, 3));
  writer->release();
  for (const auto& reader : readers) CHECK(reader->gets_it());
  for (const auto& reader : readers) reader->release();
}

TEST_CASE_FIXTURE(Fleet, "a writer of rlock that reads on lets readers of both sides in at once") {
  Downgraded downgraded(server());
  REQUIRE(wait_until([&] { return server().command({"HLEN", "job"}) == "3"; }));
  CHECK(java_try(k_read) == "false");
  CHECK(rlock_try(k_read) == 75);
  JavaClient reader(java(), k_read);
  REQUIRE(come_to_wait(k_read));
  downgraded.end_writing();
  REQUIRE(reader.gets_it());
  CHECK(rlock_try(k_read) == 0);
  CHECK(java_try(k_write) == "false");
  reader.release();
  JavaClient writer(java(), k_write);
  REQUIRE(come_to_wait(k_write));
  CHECK(rlock_try(k_write) == 75);
  CHECK_FALSE(writer.has_it());
  downgraded.stop();
  REQUIRE(writer.gets_it());
  writer.release();
}

TEST_CASE_FIXTURE(Fleet, "a writer of Java that reads on lets rlock read, and not write") {
  JavaThread thread(java());
  CHECK(thread.call("lock", k_write, {k_long_lease_ms}) == "true");
  CHECK(thread.call("lock", k_read, {k_long_lease_ms}) == "true");
  CHECK(rlock_try(k_read) == 75);
  CHECK(thread.call("unlock", k_write) == "true");
  RlockClient reader(server(), k_read);
  REQUIRE(reader.gets_it());
  CHECK(rlock_try(k_write) == 75);
  CHECK(thread.call("unlock", k_read) == "true");
  CHECK(java_try(k_write) == "false");
  RlockClient writer(server(), k_write);
  REQUIRE(come_to_wait(k_write));
  reader.release();
  REQUIRE(writer.gets_it());
  writer.release();
}

TEST_CASE_FIXTURE(Fleet, "a JVM that cuts the lock short and dies takes nothing from rlock") {
  RlockClient reader(server(), k_read, {"--lease", k_long_lease});
  REQUIRE(reader.gets_it());
  constexpr long k_watchdog_ms = 15'000;
  Peer dying(server().tcp_url(), {.watchdog = std::chrono::milliseconds(k_watchdog_ms)});
  JavaClient watched(dying, k_read, -1);
  REQUIRE(watched.gets_it());
  REQUIRE(wait_until([&] { return pttl(server()) <= k_watchdog_ms; }));
  dying.kill();
  REQUIRE(wait_until([&] { return pttl(server()) > k_long_lease_ms / 2; }));
  CHECK(rlock_try(k_write) == 75);
  reader.release();
  CHECK(rlock(k_read, "unlock", {"--force", "-y"}).status == 0);
}

TEST_CASE_FIXTURE(Fleet, "a reader that was killed keeps writers out for its own lease only") {
  SUBCASE("of rlock, for Java, among Java's readers") {
    expect_remains();
    RlockClient dead(server(), k_read, {"--lease", "2s"});
    REQUIRE(dead.gets_it());
    JavaClient other(java(), k_read);
    REQUIRE(other.gets_it());
    std::string key;
    for (const std::string& found : server().keys()) {
      if (!has(found, ":rwlock_timeout:")) continue;
      if (!has(found, java().uuid())) key = found;
    }
    REQUIRE(!key.empty());
    dead.process().signal(SIGKILL);
    JavaClient writer(java(), k_write);
    REQUIRE(come_to_wait(k_write));
    REQUIRE(wait_until([&] { return server().command({"EXISTS", key}) == "0"; }));
    JavaClient third(java(), k_read);
    REQUIRE(third.gets_it());
    other.release();
    CHECK_FALSE(writer.has_it());
    third.release();
    REQUIRE(writer.gets_it());
    writer.release();
  }
  SUBCASE("of Java, for rlock, among rlock's readers") {
    Peer dying(server().tcp_url());
    JavaClient dead(dying, k_read, 2000);
    REQUIRE(dead.gets_it());
    RlockClient other(server(), k_read);
    REQUIRE(other.gets_it());
    dying.kill();
    RlockClient writer(server(), k_write);
    REQUIRE(come_to_wait(k_write));
    CHECK(rlock_try(k_read) == 0);
    other.release();
    REQUIRE(writer.gets_it());
    writer.release();
  }
}

TEST_CASE_FIXTURE(Fleet, "the watchdogs of both sides keep readers and writers") {
  Peer watched(server().tcp_url(), {.watchdog = 2s});
  std::vector<std::unique_ptr<Client>> holders;
  std::deque<Renewals> renewals;
  for (const std::string kind : {"read", "write"}) {
    const Lock of_java{kind, "java " + kind};
    holders.push_back(std::make_unique<JavaClient>(watched, of_java, -1));
    const Lock of_rlock{kind, "rlock " + kind};
    holders.push_back(std::make_unique<RlockClient>(server(), of_rlock,
                                                    std::vector<std::string>{"--lease", "2s"}));
    renewals.emplace_back(server(), of_java);
    renewals.emplace_back(server(), of_rlock);
  }
  for (const auto& holder : holders) REQUIRE(holder->gets_it());
  REQUIRE(wait_until([&] {
    int done = 0;
    for (Renewals& one : renewals) done += one.count() >= 4 ? 1 : 0;
    return done == 4;
  }));
  for (const std::string kind : {"read", "write"}) {
    CHECK(java_try({"write", "rlock " + kind}) == "false");
    CHECK(rlock_try({"write", "java " + kind}) == 75);
  }
  for (const auto& holder : holders) holder->release();
}

TEST_CASE_FIXTURE(Fleet,
                  "a writer of Java learns of the shorter TTL that a reader of rlock leaves") {
  JavaThread dead(java());
  CHECK(dead.call("lock", k_read, {3000}) == "true");
  RlockClient reader(server(), k_read);
  REQUIRE(reader.gets_it());
  // It sleeps for the 10 minutes that it sees.
  JavaClient writer(java(), k_write);
  REQUIRE(come_to_wait(k_write));
  reader.release();
  REQUIRE(writer.gets_it());
  writer.release();
}

TEST_CASE_FIXTURE(Fleet, "rlock renews and releases for a thread of Java, on either side") {
  JavaThread thread(java());
  CHECK(thread.call("lock", k_write, {k_long_lease_ms}) == "true");
  CHECK(thread.call("lock", k_read, {k_long_lease_ms}) == "true");
  const std::string owner = thread.owner();
  CHECK(rlock(k_read, "renew", {"--owner", owner, "--lease", "20m"}).status == 0);
  CHECK(pttl(server()) > k_long_lease_ms);
  CHECK(rlock(k_read, "unlock", {"--owner", owner}).status == 0);
  CHECK(thread.call("isHeld", k_write) == "false");
  CHECK(thread.call("isHeld", k_read) == "true");
  CHECK(thread.call("lock", k_read, {k_long_lease_ms}) == "true");
  CHECK(rlock(k_read, "unlock", {"--owner", owner}).status == 0);
  CHECK(thread.call("holdCount", k_read) == "1");
  CHECK(java_try(k_write) == "false");
  CHECK(rlock(k_read, "unlock", {"--owner", owner}).status == 0);
  CHECK(rlock(k_read, "unlock", {"--owner", owner}).status == 1);
  CHECK(java_try(k_write) == "true");
}

TEST_CASE_FIXTURE(Fleet, "rlock refuses a name that Java uses for another kind of lock") {
  const Lock plain{"plain", "job"};
  JavaClient holder(java(), plain);
  REQUIRE(holder.gets_it());
  CHECK(rlock_try(k_read) == 76);
  CHECK(rlock_try(k_write) == 76);
  holder.release();
  for (const Lock& lock : {k_read, k_write}) {
    JavaClient other(java(), lock);
    REQUIRE(other.gets_it());
    CHECK(rlock_try(plain) == 76);
    other.release();
  }
}

TEST_CASE_FIXTURE(Fleet, "under contention writers are alone, and no reader sees half of it") {
  constexpr int k_times = 25;
  server().command({"SET", "counter", "0"});
  std::deque<JavaThread> threads;
  std::deque<JavaCall> calls;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back(java());
    calls.push_back(threads.back().count(k_write, "counter", k_times));
  }
  // A writer of rlock leaves the counter at a text for a moment, which nobody may see.
  const std::string script =
      "c() { redis-cli -s \"$0\" \"$@\"; }; n=$(c get counter); c set counter half > /dev/null; "
      "c set counter $((n + 1)) > /dev/null";
  const std::string look = "redis-cli -s \"$0\" get counter";
  for (int i = 0; i < 5; ++i) {
    std::deque<Process> processes;
    for (const Lock& lock : {k_write, k_read, k_write, k_read}) {
      std::vector<std::string> argv = exec_argv(server().unix_url(), lock, {});
      const bool writes = lock.kind == "write";
      argv.insert(argv.end(), {"--", "sh", "-c", writes ? script : look, server().unix_path()});
      processes.emplace_back(argv);
    }
    for (Process& process : processes) {
      const Result result = process.wait(120s);
      CAPTURE(result.err);
      CHECK(result.status == 0);
      CHECK_FALSE(has(result.out, "half"));
    }
  }
  for (JavaCall& call : calls) CHECK(call.answer(120s) == "true");
  CHECK(server().command({"GET", "counter"}) == std::to_string(3 * k_times + 10));
  server().command({"DEL", "counter"});
}
