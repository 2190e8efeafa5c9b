#include "lock/simple.hpp"

#include <utility>

#include "lua_scripts.hpp"

namespace rlock::lock {

SimpleLock::SimpleLock(const std::string& name, std::string owner, const About& about,
                       const Terms& terms, Value value)
    : ReentrantLock(name, std::move(owner), about, terms), value_(value) {}

std::variant<Lease, Busy> SimpleLock::acquire(redis::Client& client, Join /*join*/,
                                              const Terms& terms) {
  return request(client, lua::acquire_simple, terms, {},
                 {value_ == Value::fresh ? "1" : "0", keys().permits});
}

}  // namespace rlock::lock
