// What the tests of the scripts of semaphores have in common.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "lock/kinds/semaphore.hpp"
#include "redis/lock_fixture.hpp"
#include "redis/refusal.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

namespace rlock::test::semaphore {

using lock::Hold;
using lock::Join;

inline const std::string k_permits = "{job}:timeout";
inline const std::string k_channel = "redisson_sc:{job}";
inline const std::string k_info = "rlock_info:{job}";
inline constexpr const char* k_never = "922337203685477";
inline constexpr long k_day = 86'400'000;

inline lock::SingleServerLock make_semaphore(const std::string& owner, int permits,
                                             Milliseconds lease = Milliseconds(30'000)) {
  return {lock::semaphore_operations("job", permits), owner,
          lock::About{"web1", 42, "ann", "backup"}, lease};
}

inline bool takes(lock::SingleServerLock& lock, redis::Client& client) {
  return std::holds_alternative<Hold>(lock.try_acquire(client, Join::no));
}

// The same by a new owner who keeps his permit.
inline bool takes(redis::Client& client, const std::string& owner, int permits) {
  lock::SingleServerLock semaphore = make_semaphore(owner, permits);
  return takes(semaphore, client);
}

// Returns why the lock is refused.
inline std::string refusal(redis::Client& client, lock::SingleServerLock& lock) {
  return refusal_of([&] { return lock.try_acquire(client, Join::no); });
}

inline long long now(const test::Server& server) {
  const Words time = server.list({"TIME"});
  return std::stoll(time[0]) * 1000 + std::stoll(time[1]) / 1000;
}

inline long long end_of(const test::Server& server, const std::string& owner) {
  return std::stoll(server.command({"ZSCORE", k_permits, owner}));
}

inline void end_soon(const test::Server& server, const std::string& owner) {
  server.command({"ZADD", k_permits, "1", owner});
}

// Returns how many there are altogether, as Redisson counts them.
inline int total(const test::Server& server) {
  return std::stoi(server.command({"GET", "job"})) +
         std::stoi(server.command({"ZCARD", k_permits}));
}

}  // namespace rlock::test::semaphore
