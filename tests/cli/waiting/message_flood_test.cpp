// Anybody can publish on a lock's channel, as much as it likes.
#include <atomic>
#include <csignal>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "cli/foreign_lock.hpp"
#include "support/process.hpp"
#include "support/processes.hpp"
#include "support/server.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"
#include "waiting_fixture.hpp"

using namespace rlock::test;

namespace {

// The limit of docs/promises.md, and room for an unoptimized build.
constexpr long k_most_kib = 12 * 1024;

// Publishes on a channel without an end, until its destructor.
class Flood {
 public:
  Flood(const Server& server, const std::string& channel, std::size_t size) {
    for (int i = 0; i < 2; ++i) {
      publishers_.emplace_back([this, &server, channel, size] {
        RespClient client = server.connect();
        // At most 1 MiB at once, so that the server answers others in between.
        const std::string count =
            std::to_string(std::max<std::size_t>((1U << 20) / (size + 60), 1));
        const std::string text(size, 'x');
        while (!ends_) {
          client.call({"EVAL", "for i = 1, ARGV[2] do redis.call('publish', KEYS[1], ARGV[1]) end",
                       "1", channel, text, count});
          sent_ += std::stoul(count) * (size + 60);
        }
      });
    }
  }
  ~Flood() {
    ends_ = true;
    for (std::thread& publisher : publishers_) publisher.join();
  }

  // Waits until it has published so many bytes more.
  bool goes_on_for(std::size_t bytes) {
    const std::size_t goal = sent_ + bytes;
    return wait_until([&] { return sent_ >= goal; });
  }

 private:
  std::atomic<bool> ends_ = false;
  std::atomic<std::size_t> sent_ = 0;
  std::vector<std::thread> publishers_;
};

const std::vector<std::size_t> k_sizes = {1, 4000, 2'000'000};

std::string hold_job(const Server& server) {
  const std::string owner = "2e91b15e-57ff-4b43-a4b3-ee2ba1fc4d5b:1";
  server.command({"HSET", "job", owner, "1"});
  server.command({"PEXPIRE", "job", "600000"});
  return owner;
}

}  // namespace

TEST_CASE("message: waiters of every kind pass over one of 2 MB, and hear the next") {
  struct Case {
    Words options;
    std::string channel;
  };
  const std::vector<Case> cases = {{{}, waits::channel("job")},
                                   {{"--kind", "simple"}, waits::channel("job")},
                                   {{"-s"}, "redisson_rwlock:{job}"},
                                   {{"--permits", "1"}, "redisson_sc:{job}"},
                                   {{"--fair"}, ""}};
  for (const Case& each : cases) {
    CAPTURE(each.options);
    Server server;
    Words holding = rlock_argv("exec", "-r", server.unix_url(), each.options);
    if (each.options == Words{"-s"}) holding.back() = "-x";
    for (const char* word : {"job", "--", "sh", "-c", "echo held; cat"}) holding.emplace_back(word);
    Process holder(holding, {.hold_stdin = true});
    holder.wait_for_stdout("held");
    Process waiter(
        rlock_argv("exec", "-r", server.unix_url(), each.options, "job", "--", "echo", "got"));
    std::string channel = each.channel;
    REQUIRE(wait_until([&] {
      if (each.channel.empty()) {
        channel = waits::channel("job") + ":" +
                  server.command({"LINDEX", "redisson_lock_queue:{job}", "0"});
      }
      return listeners(server, channel) == 1;
    }));
    CHECK(server.command({"PUBLISH", channel, std::string(2'000'000, 'x')}) == "1");
    holder.close_stdin();
    CHECK(holder.wait().status == 0);
    waits::check_got(waiter);
  }
}

TEST_CASE(
    "message: a flood of them costs a waiter no memory, and ends with -w or SIGTERM at once") {
  for (const std::size_t size : k_sizes) {
    CAPTURE(size);
    Server server;
    const std::string owner = hold_job(server);
    const auto start = [&](const Words& options) {
      return rlock_argv("exec", "-r", server.unix_url(), options, "job", "--", "true");
    };
    Process timed(start({"-w", "3s"}));
    Process waiter(start({}));
    REQUIRE(comes_to_wait(server, "job", 2));
    Flood flood(server, waits::channel("job"), size);
    const Result gave_up = timed.wait(std::chrono::seconds(30));
    CAPTURE(gave_up.err);
    CHECK(gave_up.status == 75);
    REQUIRE(flood.goes_on_for(32 << 20));
    CHECK(waiter.running());
    if (!is_sanitized()) CHECK(most_resident_kib(waiter.pid()) < k_most_kib);
    waiter.signal(SIGTERM);
    const Result ended = waiter.wait(std::chrono::seconds(30));
    CHECK(ended.status == 128 + SIGTERM);
    CHECK(ended.err == "");
  }
}

TEST_CASE("message: a flood does not keep a waiter from a lock that becomes free") {
  for (const std::size_t size : k_sizes) {
    CAPTURE(size);
    Server server;
    hold_job(server);
    Process waiter(waits::exec_argv(server.unix_url(), "job"));
    REQUIRE(comes_to_wait(server));
    Flood flood(server, waits::channel("job"), size);
    REQUIRE(flood.goes_on_for(16 << 20));
    server.command({"DEL", "job"});
    waits::check_got(waiter);
  }
}

TEST_CASE("message: a flood costs watch no memory, and does not hide a signal") {
  for (const std::size_t size : k_sizes) {
    CAPTURE(size);
    Server server;
    hold_job(server);
    Process watch(rlock_argv("watch", "-r", server.unix_url(), "job"));
    watch.wait_for_stdout("held");
    Flood flood(server, waits::channel("job"), size);
    REQUIRE(flood.goes_on_for(32 << 20));
    CHECK(watch.running());
    if (!is_sanitized()) CHECK(most_resident_kib(watch.pid()) < 2 * k_most_kib);
    watch.signal(SIGTERM);
    CHECK(watch.wait(std::chrono::seconds(30)).status == 128 + SIGTERM);
  }
}
