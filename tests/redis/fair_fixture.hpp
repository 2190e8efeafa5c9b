// A server, and those who want its fair lock "job".
#pragma once

#include <deque>
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "lock/kinds/fair.hpp"
#include "redis/lock_fixture.hpp"
#include "support/fair_lock.hpp"

namespace rlock::test {

struct FairFixture {
  Server server;
  redis::Client client = client_of(server);
  std::deque<lock::SingleServerLock> locks;

  lock::SingleServerLock& make(const std::string& owner, Milliseconds wait = lua::k_our_wait,
                               Milliseconds lease = Milliseconds(30'000)) {
    return locks.emplace_back(lock::fair_operations("job", wait), owner,
                              lock::About{"web1", 42, "ann", "backup"}, lease);
  }
  // Asks, and queues if need be; returns whether it was granted.
  bool asks(lock::SingleServerLock& lock) {
    return std::holds_alternative<lock::Hold>(lock.try_acquire(client, lock::Join::yes));
  }
  // Queues new waiters, in this order, behind whoever holds the lock.
  void line_up(const Words& owners) {
    for (const std::string& owner : owners) CHECK_FALSE(asks(make(owner)));
  }
  void hold_by_other() const { test::hold_by_other(server); }
  // The lock becomes free without a word, as when its lease ends.
  void expire() const { server.command({"DEL", "job"}); }
};

}  // namespace rlock::test
