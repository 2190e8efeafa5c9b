// What the tests of fencing tokens have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "lock/kinds/fair.hpp"
#include "lock/kinds/read_write.hpp"
#include "lock/kinds/simple.hpp"
#include "redis/lock_fixture.hpp"

namespace rlock::test::fence {

inline const std::string k_counter = "redisson_lock_token:{job}";

inline lock::Terms fenced() {
  lock::Terms terms = Milliseconds(30'000);
  terms.fencing = lock::Fencing::on;
  return terms;
}

inline std::unique_ptr<lock::SingleServerLock> make(lock::Kind kind, const std::string& owner,
                                                    const lock::About& about = {"web1", 42, "ann",
                                                                                "cmd"}) {
  if (kind == lock::Kind::fair) {
    return std::make_unique<lock::SingleServerLock>(lock::fair_operations("job", lua::k_our_wait),
                                                    owner, about, fenced());
  }
  if (kind == lock::Kind::simple) {
    return std::make_unique<lock::SingleServerLock>(lock::simple_operations("job"), owner, about,
                                                    fenced());
  }
  if (kind == lock::Kind::write) {
    return std::make_unique<lock::SingleServerLock>(lock::read_write_operations("job", kind), owner,
                                                    about, fenced());
  }
  return std::make_unique<lock::SingleServerLock>(lock::plain_operations("job"), owner, about,
                                                  fenced());
}

inline std::int64_t take(lock::SingleServerLock& lock, redis::Client& client) {
  const auto answer = lock.try_acquire(client, lock::Join::no);
  REQUIRE(std::holds_alternative<lock::Hold>(answer));
  REQUIRE(std::get<lock::Hold>(answer).token);
  return *std::get<lock::Hold>(answer).token;
}

inline std::int64_t take_and_release(lock::Kind kind, redis::Client& client) {
  const auto lock = make(kind, "u:1");
  const std::int64_t token = take(*lock, client);
  CHECK(lock->release(client) == lock::Release::freed);
  return token;
}

}  // namespace rlock::test::fence
