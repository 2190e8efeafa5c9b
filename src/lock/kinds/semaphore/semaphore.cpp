#include "lock/kinds/semaphore/semaphore.hpp"

#include <utility>

#include "base/error.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {

Semaphore::Semaphore(const std::string& name, std::string owner, const About& about,
                     const Terms& terms, int permits)
    : ReentrantLock(name, std::move(owner), about, terms), permits_(permits) {
  if (terms.fencing != Fencing::off) {
    throw Error(ExitStatus::usage,
                "--fence: not with --permits: the newest token would shut out the other holders");
  }
}

std::variant<Lease, Busy> Semaphore::acquire(redis::Client& client, Join /*join*/,
                                             const Terms& terms) {
  return request(client, lua::acquire_semaphore, terms, {keys().permits},
                 {std::to_string(permits_), keys().semaphore_channel});
}

ReentrantLock::Question Semaphore::reenter_question(const redis::Client& client) const {
  return {lua::reenter_semaphore,
          {{keys().lock, latch(), keys().info, keys().permits},
           {to_argument(terms().lease), owner(), to_argument(memory_of(client))}}};
}

ReentrantLock::Question Semaphore::renew_question(Milliseconds lease) const {
  return {lua::renew_semaphore,
          {{keys().permits}, {to_argument(lease), owner(), keys().info, keys().lock}}};
}

ReentrantLock::Question Semaphore::release_question(const redis::Client& client, Milliseconds keep,
                                                    Wake /*wake*/) const {
  return {lua::release_semaphore,
          {{keys().lock, keys().info, latch(), keys().permits},
           {owner(), to_argument(memory_of(client)), to_argument(keep), standing(),
            keys().semaphore_channel, shared()}}};
}

}  // namespace rlock::lock
