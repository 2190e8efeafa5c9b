#include "lock/simple.hpp"

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
  const Lease* lease = std::get_if<Lease>(&answer);
  if (lease == nullptr || value_ == Value::fresh || is_in_doubt()) return answer;
  // One that came too late is asked for again, for which the latch is still needed.
  if (BootClock::now() < last_moment(lease->deadline, lease->length, Milliseconds(0))) {
    client.send_behind({"DEL", latch()});
  }
  return answer;
}

}  // namespace rlock::lock
