// What a lock that several servers keep costs against one that the first of them keeps.
//
//   quorum_cycle PAIRS URL...
//     Takes a lock and gives it back, in turns on the first server alone and on all of them. Prints
//     a line a pair, "cycle ALONE TOGETHER": nanoseconds from before the request to take it until
//     the answer to its release, on connections that are open. Then as often "start ALONE
//     TOGETHER": the same with new connections, from before they are made until they have been
//     closed. Fails if a lock was busy, or anything is left on a server.

#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "lock/make_lock.hpp"
#include "lock/words/owner.hpp"

namespace rlock::bench {
namespace {

constexpr int k_warm_up = 20;
constexpr std::chrono::milliseconds k_pause{2};  // until the slowest server has answered, too
// All servers have been up for longer, so that each has a vote; they are asked nevertheless.
constexpr Milliseconds k_restart_delay{1};

lock::SessionOptions options(const std::vector<std::string>& urls) {
  lock::SessionOptions result;
  for (const std::string& url : urls) result.servers.push_back(redis::parse_url(url));
  result.client.endpoint = result.servers.front();
  result.client.timeout = std::chrono::seconds(3);
  result.client.name = "bench";
  return result;
}

[[noreturn]] void fail(const std::string& why) { throw Error(ExitStatus::internal, why); }

std::chrono::nanoseconds cycle(lock::Session& session) {
  lock::Wish wish;
  wish.name = session.nodes().empty() ? "alone" : "together";
  wish.owner = lock::fresh_owner();
  wish.about = lock::about_this_process("true");
  if (!session.nodes().empty()) wish.terms.restart_delay = k_restart_delay;
  const std::unique_ptr<lock::Lock> lock = lock::make_lock(wish, session);
  const auto start = std::chrono::steady_clock::now();
  if (!std::holds_alternative<lock::Hold>(lock->try_acquire(session, lock::Join::no))) {
    fail("the lock is busy");
  }
  if (lock->release(session, Milliseconds(0)) != lock::Release::freed) fail("the lock was lost");
  return std::chrono::steady_clock::now() - start;
}

std::chrono::nanoseconds start(const lock::SessionOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  {
    lock::Session session(options);
    cycle(session);
  }
  return std::chrono::steady_clock::now() - start;
}

// Has both do it in turns, A B, B A, and prints what they took.
template <typename Alone, typename Together>
void measure(const char* what, int pairs, Alone alone, Together together) {
  for (int pair = -k_warm_up; pair < pairs; ++pair) {
    std::chrono::nanoseconds first{}, second{};
    const bool alone_first = pair % 2 == 0;
    if (alone_first) first = alone();
    std::this_thread::sleep_for(k_pause);
    second = together();
    std::this_thread::sleep_for(k_pause);
    if (!alone_first) first = alone();
    if (pair < 0) continue;
    std::printf("%s %lld %lld\n", what, static_cast<long long>(first.count()),
                static_cast<long long>(second.count()));
  }
}

void expect_nothing_left(const lock::SessionOptions& all) {
  for (const redis::Endpoint& server : all.servers) {
    const redis::Deadline deadline{after(BootClock::now(), all.client.timeout)};
    redis::Connection connection({server, all.client.name, redis::k_large_reply}, deadline);
    while (connection.command({"DBSIZE"}, deadline).as_integer() != 0) {
      if (BootClock::now() > deadline.when) fail("a server is not empty");
    }
  }
}

void run(int pairs, const std::vector<std::string>& urls) {
  const lock::SessionOptions one = options({urls.front()});
  const lock::SessionOptions all = options(urls);
  {
    lock::Session alone(one);
    lock::Session together(all);
    measure(
        "cycle", pairs, [&] { return cycle(alone); }, [&] { return cycle(together); });
  }
  measure(
      "start", pairs, [&] { return start(one); }, [&] { return start(all); });
  expect_nothing_left(all);
}

}  // namespace
}  // namespace rlock::bench

int main(int argc, char** argv) {
  int pairs = 0;
  if (argc > 1) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), pairs);
  if (argc < 4 || pairs <= 0) {
    std::fprintf(stderr, "usage: quorum_cycle PAIRS URL URL...\n");
    return 1;
  }
  try {
    rlock::bench::run(pairs, {argv + 2, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quorum_cycle: %s\n", error.what());
    return 1;
  }
}
