#include "lock/kinds/simple/simple.hpp"

#include <utility>

#include "lua_scripts.hpp"

namespace rlock::lock {

SimpleLock::SimpleLock(const std::string& name, std::string owner, const About& about,
                       const Terms& terms, Value value)
    : ReentrantLock(name, std::move(owner), about, terms), value_(value) {}

std::variant<Lease, Busy> SimpleLock::acquire(redis::Client& client, Join /*join*/,
                                              const Terms& terms) {
  auto answer = request(client, lua::acquire_simple, terms, {},
                        {value_ == Value::fresh ? "1" : "0", keys().permits});
  if (Busy* busy = std::get_if<Busy>(&answer)) {
    busy->is_any_string = !busy->held_for && !looks_like_owner(busy->owner);
    if (busy->is_any_string) busy->owner = start_of(busy->owner);
  }
  return answer;
}

}  // namespace rlock::lock
