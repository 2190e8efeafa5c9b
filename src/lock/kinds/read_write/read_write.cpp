#include "lock/kinds/read_write/read_write.hpp"

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "lock/words/kind.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

constexpr Milliseconds k_longest_reader_interval{10'000};

std::string without_side(const std::string& owner) {
  constexpr std::string_view k_writes = ":write";
  return owner.ends_with(k_writes) ? owner.substr(0, owner.size() - k_writes.size()) : owner;
}

}  // namespace

ReadWriteLock::ReadWriteLock(const std::string& name, const std::string& owner, const About& about,
                             const Terms& terms, Kind side)
    : ReentrantLock(name, without_side(owner), about, terms), side_(side) {
  if (side == Kind::read && terms.fencing != Fencing::off) {
    throw Error(ExitStatus::usage,
                "--fence: not for a reader: the token of the next reader would make this one's old "
                "while both have the lock");
  }
}

Milliseconds ReadWriteLock::renewal_interval() const noexcept {
  const Milliseconds usual = ReentrantLock::renewal_interval();
  return side_ == Kind::read ? std::min(usual, k_longest_reader_interval) : usual;
}

std::variant<Lease, Busy> ReadWriteLock::acquire(redis::Client& client, Join /*join*/,
                                                 const Terms& terms) {
  const redis::Script& script = side_ == Kind::read ? lua::acquire_read : lua::acquire_write;
  return request(client, script, terms, {}, {keys().reader_prefix});
}

ReentrantLock::Question ReadWriteLock::reenter_question(const redis::Client& client) const {
  const bool fences = terms().fencing != Fencing::off;
  redis::ScriptArgs call{{keys().lock, latch(), keys().info},
                         {to_argument(terms().lease), owner(), to_argument(memory_of(client)),
                          fences ? "1" : "0", keys().reader_prefix, kind_name(side_)}};
  if (fences) call.keys.push_back(keys().token);
  return {lua::reenter_read_write, std::move(call)};
}

ReentrantLock::Question ReadWriteLock::renew_question(Milliseconds lease) const {
  return {lua::renew_read_write,
          {{keys().lock},
           {to_argument(lease), owner(), keys().info, keys().reader_prefix, kind_name(side_)}}};
}

ReentrantLock::Question ReadWriteLock::release_question(const redis::Client& client,
                                                        Milliseconds keep, Wake /*wake*/) const {
  return {lua::release_read_write,
          {{keys().lock, keys().read_write_channel, keys().info, latch()},
           {owner(), to_argument(memory_of(client)), to_argument(keep), keys().reader_prefix,
            standing(), kind_name(side_), shared()}}};
}

}  // namespace rlock::lock
