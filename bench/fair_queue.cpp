// What it takes to hand a fair lock over while many wait for it.
//
//   fair_queue URL WAITERS HANDOVERS [PEERS]
//     Fills the queue with WAITERS runs, each with its own owner and its own connection, who ask
//     again as often as the server tells them. Prints "ready", waits for a line on stdin, then
//     hands the lock over HANDOVERS times: the holder releases it, the head of the queue is called
//     and takes it, and a new run joins at the tail. Prints one line of JSON with the times, in
//     nanoseconds, from before a release was written until the next owner had his answer. Waits for
//     a line on stdin, has everybody give up, and fails if anything is left in the server.
//     Fails too when the lock goes to anybody but the one who has waited longest.
//     With PEERS, this number of Redisson's waiters queue behind the first WAITERS runs, which must
//     be more than HANDOVERS: the lock never gets to a waiter of Redisson.
//
// The connections are named release, grant, join, ask and leave, which tells in SLOWLOG what a
// script was called for.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "asker.hpp"
#include "base/error.hpp"
#include "taker.hpp"

namespace rlock::bench {
namespace {

constexpr int k_warm_up = 50;
constexpr std::size_t k_between_renewals = 100;  // joins, or departures
constexpr std::chrono::milliseconds k_pause{2};  // until everybody sleeps
constexpr Milliseconds k_most_late{2000};        // then waiters would be taken for dead

redis::ClientOptions options(const std::string& url, const char* name) {
  redis::ClientOptions result;
  result.endpoint = redis::parse_url(url);
  result.timeout = std::chrono::seconds(10);
  result.name = name;
  return result;
}

[[noreturn]] void fail(const std::string& why) { throw Error(ExitStatus::internal, why); }

class Bench {
 public:
  Bench(std::string url, std::size_t waiters)
      : url_(std::move(url)),
        waiters_(waiters),
        releasing_(options(url_, "release")),
        joining_(options(url_, "join")),
        leaving_(options(url_, "leave")),
        looking_(options(url_, "look")),
        asker_(options(url_, "ask")),
        taker_(options(url_, "grant")) {}

  void fill() {
    expect_nothing_left();
    runs_.push_back(std::make_unique<Waiter>(k_name));
    holder().take(joining_);
    for (std::size_t i = 1; i <= waiters_; ++i) {
      join();
      if (i % k_between_renewals == 0) keep();
    }
    for (int i = 0; i < k_warm_up; ++i) hand_over();
  }

  // Queues waiters as Redisson does: each waits for 300 s longer than the one before it.
  void add_peers(std::size_t count) {
    using namespace std::chrono;
    const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
    for (; peers_ < count; ++peers_) {
      const std::string deadline = std::to_string(now + 300'000 * (static_cast<long>(peers_) + 1));
      command({"RPUSH", k_queue, peer(peers_)});
      command({"ZADD", k_scores, deadline, peer(peers_)});
      if (peers_ % k_between_renewals == 0) keep();
    }
  }

  void drop_peers() {
    for (; peers_ > 0; --peers_) {
      command({"LREM", k_queue, "1", peer(peers_ - 1)});
      command({"ZREM", k_scores, peer(peers_ - 1)});
      if (peers_ % k_between_renewals == 0) keep();
    }
  }

  // Returns the time from before the release was written until the next one had the lock.
  std::chrono::nanoseconds hand_over() {
    std::this_thread::sleep_for(k_pause);
    const Clock::time_point start = Clock::now();
    if (holder().lock().release(releasing_) != lock::Release::freed) fail("the lock was lost");
    const Grant grant = taker_.wait_for_grant();
    ++holder_;
    if (grant.waiter != &holder()) fail("the lock went to the wrong waiter");
    holder().stop_listening();
    join();
    return grant.when - start;
  }

  void leave() {
    for (std::size_t i = holder_ + 1; i < runs_.size(); ++i) {
      runs_[i]->stop_listening();
      runs_[i]->lock().stop_waiting(leaving_);
      if (i % k_between_renewals == 0) keep();
    }
    if (holder().lock().release(leaving_) != lock::Release::freed) fail("the lock was lost");
    expect_nothing_left();
  }

  [[nodiscard]] const Asker& asker() const noexcept { return asker_; }

 private:
  static constexpr const char* k_name = "fair-queue";
  static constexpr const char* k_queue = "redisson_lock_queue:{fair-queue}";
  static constexpr const char* k_scores = "redisson_lock_timeout:{fair-queue}";

  [[nodiscard]] static std::string peer(std::size_t thread) {
    return "8c7e5ab5-0fc0-4b0e-a2b5-91c3a1f0d7e4:" + std::to_string(thread);
  }

  [[nodiscard]] Waiter& holder() { return *runs_[holder_]; }

  void join() {
    const std::size_t waiting = runs_.size() - holder_ - 1;
    Waiter& waiter = *runs_.emplace_back(std::make_unique<Waiter>(k_name));
    const lock::Busy busy = waiter.join(joining_, options(url_, "listen"));
    if (busy.place != static_cast<int>(waiting + peers_)) fail("the queue has lost somebody");
    taker_.add(waiter);
    asker_.add(waiter, busy);
  }

  // The holder's watchdog.
  void keep() {
    if (holder().lock().renew(joining_) != lock::Renewal::renewed) fail("the lock was lost");
  }

  redis::Reply command(const redis::Args& words) { return looking_.command(words); }

  void expect_nothing_left() {
    const auto end = Clock::now() + std::chrono::seconds(1);  // nobody waits for the last DEL
    while (command({"DBSIZE"}).as_integer() != 0) {
      if (Clock::now() > end) fail("the server is not empty: " + command({"RANDOMKEY"}).as_text());
    }
  }

  std::string url_;
  std::size_t waiters_;
  redis::Client releasing_;
  redis::Client joining_;
  redis::Client leaving_;
  redis::Client looking_;
  std::vector<std::unique_ptr<Waiter>> runs_;  // former holders, the holder, the queue
  std::size_t holder_ = 0;
  std::size_t peers_ = 0;  // waiters of Redisson
  Asker asker_;
  Taker taker_;
};

void wait_for_line() {
  std::string line;
  std::getline(std::cin, line);
}

std::size_t number(const char* text) {
  std::size_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

int run(const std::string& url, std::size_t waiters, std::size_t handovers, std::size_t peers) {
  Bench bench(url, waiters);
  bench.fill();
  bench.add_peers(peers);
  std::printf("ready\n");
  std::fflush(stdout);
  wait_for_line();

  const long asked_before = bench.asker().asked();
  std::string times;
  for (std::size_t i = 0; i < handovers; ++i) {
    if (i > 0) times += ',';
    times += std::to_string(bench.hand_over().count());
  }
  std::printf("{\"waiters\":%zu,\"asked\":%ld,\"latest_ms\":%ld,\"handover_ns\":[%s]}\n", waiters,
              bench.asker().asked() - asked_before,
              static_cast<long>(bench.asker().latest().count()), times.c_str());
  std::fflush(stdout);
  if (bench.asker().latest() > k_most_late) fail("this machine is too slow for so many waiters");

  wait_for_line();
  bench.drop_peers();
  bench.leave();
  return 0;
}

}  // namespace
}  // namespace rlock::bench

int main(int argc, char** argv) {
  using rlock::bench::number;
  if (argc < 4 || argc > 5 || number(argv[2]) == 0) {
    std::fprintf(stderr, "usage: fair_queue URL WAITERS HANDOVERS [PEERS]\n");
    return 1;
  }
  try {
    return rlock::bench::run(argv[1], number(argv[2]), number(argv[3]),
                             argc > 4 ? number(argv[4]) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fair_queue: %s\n", error.what());
    // The threads of others would wait for the server, or forever.
    std::_Exit(1);
  }
}
