// What the tests of the scripts of read/write locks have in common.
#pragma once

#include <string>
#include <variant>

#include "lock/kinds/read_write.hpp"
#include "redis/lock_fixture.hpp"

namespace rlock::test::read_write {

using lock::Kind;
using lock::SingleServerLock;

inline const lock::About k_about{"web1", 42, "ann", "backup"};

struct Setting {
  test::Server server;
  redis::Client client = client_of(server);

  [[nodiscard]] bool takes(SingleServerLock& lock) {
    return std::holds_alternative<lock::Hold>(lock.try_acquire(client, lock::Join::no));
  }
  [[nodiscard]] lock::Busy refusal(SingleServerLock& lock) {
    return std::get<lock::Busy>(lock.try_acquire(client, lock::Join::no));
  }
  [[nodiscard]] long ttl(const std::string& key = "job") const { return pttl(server, key); }
  [[nodiscard]] std::string hash(const std::string& field) const {
    return server.command({"HGET", "job", field});
  }
  void expire(const std::string& key) const { server.command({"DEL", key}); }
  void persist(const std::string& key) const { server.command({"PERSIST", key}); }
};

inline std::string hold_key(const std::string& owner, int hold) {
  return "{job}:" + owner + ":rwlock_timeout:" + std::to_string(hold);
}

inline SingleServerLock a_reader(const std::string& owner,
                                 Milliseconds lease = Milliseconds(30'000)) {
  return {lock::read_write_operations("job", Kind::read), owner, k_about, lease};
}

inline SingleServerLock a_writer(const std::string& owner,
                                 Milliseconds lease = Milliseconds(30'000)) {
  return {lock::read_write_operations("job", Kind::write), owner, k_about, lease};
}

}  // namespace rlock::test::read_write
