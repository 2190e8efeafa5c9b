#include "asker.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"
#include "lock/holding/waiting.hpp"

namespace rlock::bench {
namespace {

// As lock/holding/waiting.cpp sleeps.
Milliseconds pause_after(const lock::Busy& busy) {
  const unsigned spread = random_below(1000);
  if (!busy.ask_after || busy.place == 0) return lock::sleep_bound(busy.ttl, spread);
  return *busy.ask_after + *busy.ask_after * spread / 5000;
}

}  // namespace

Asker::Asker(redis::ClientOptions options)
    : client_(std::move(options)), thread_([this] {
        try {
          run();
        } catch (const Error& error) {
          std::fprintf(stderr, "fair_queue: asking again: %s\n", error.what());
          std::_Exit(1);
        }
      }) {}

Asker::~Asker() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Asker::add(Waiter& waiter, const lock::Busy& busy) {
  add_turn(after(BootClock::now(), pause_after(busy) * random_below(1000) / 1000), waiter);
}

void Asker::add_turn(TimePoint when, Waiter& waiter) {
  {
    const std::lock_guard guard(mutex_);
    turns_.push({when, &waiter});
  }
  changed_.notify_one();
}

void Asker::run() {
  std::unique_lock guard(mutex_);
  while (!stop_) {
    if (turns_.empty()) {
      changed_.wait(guard);
      continue;
    }
    const auto left = turns_.top().when - BootClock::now();
    if (left > Nanoseconds(0)) {
      changed_.wait_for(guard, left);
      continue;
    }
    Waiter& waiter = *turns_.top().waiter;
    turns_.pop();
    guard.unlock();
    if (const auto busy = waiter.ask(client_)) {
      ++asked_;
      latest_ = std::max(latest_.load(), std::chrono::floor<Milliseconds>(-left));
      add_turn(after(BootClock::now(), pause_after(*busy)), waiter);
    }
    guard.lock();
  }
}

}  // namespace rlock::bench
