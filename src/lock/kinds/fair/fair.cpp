#include "lock/kinds/fair/fair.hpp"

#include <utility>

#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

// Long enough for a server that makes a pause, short enough for a user who has typed Ctrl-C.
constexpr Milliseconds k_give_up_bound{4000};

}  // namespace

FairLock::FairLock(const std::string& name, std::string owner, const About& about,
                   const Terms& terms, Milliseconds wait)
    : ReentrantLock(name, std::move(owner), about, terms), wait_(wait) {}

std::variant<Lease, Busy> FairLock::acquire(redis::Client& client, Join join, const Terms& terms) {
  const bool queues = join == Join::yes;
  has_queued_ = has_queued_ || queues;
  const auto wait = queues ? std::to_string(wait_.count()) : "0";
  while (true) {
    auto answer = request(client, lua::acquire_fair, terms, {keys().queue, keys().timeout},
                          {keys().channel, wait});
    // The server takes garbage out of a long queue step by step.
    Busy* busy = std::get_if<Busy>(&answer);
    if (busy == nullptr) return answer;
    // Nobody tells the first of rlock's waiters that one of Redisson's before it takes the lock.
    if (!busy->overheard.empty()) busy->overheard = keys().waiter_channel(busy->overheard);
    if (busy->ask_after != Milliseconds(0)) return answer;
  }
}

void FairLock::give_up(redis::Client& client) noexcept {
  if (!has_queued_) return abandon(client);
  client.set_wake_fd(-1);
  client.set_timeout(k_give_up_bound);
  try {
    release(client);
  } catch (const std::exception&) {  // then those behind find it dead
  }
}

}  // namespace rlock::lock
