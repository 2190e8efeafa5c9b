#include "cli/lock_follower.hpp"

#include <unordered_set>
#include <utility>

#include "lock/key_names.hpp"

namespace rlock::cli {
namespace {

using lock::Snapshot;

// Two readings of one expiry differ by the server's rounding; a renewal moves it by far more.
constexpr std::int64_t k_same_expiry_ms = 50;

lock::Party holder_of(const Snapshot& snapshot) {
  if (snapshot.holders.empty()) return {};
  return snapshot.holders.front();
}

std::int64_t expiry_of(const Snapshot& snapshot) {
  constexpr std::int64_t k_never = 9'000'000'000'000'000;
  const std::int64_t ttl = snapshot.ttl_ms.value_or(0);
  return ttl < 0 ? k_never : snapshot.time_ms + ttl;
}

// Adds an event for each waiter of `here` who is not one of `there`, nor `holder`.
void add_missing(std::vector<LockEvent>& events, const char* what, const Snapshot& here,
                 const Snapshot& there, const std::string& holder) {
  std::unordered_set<std::string> known(there.queue.begin(), there.queue.end());
  known.insert(holder);
  std::size_t position = 0;
  for (const lock::Waiter& waiter : here.waiters) {
    ++position;
    if (!known.contains(waiter.owner)) events.push_back({what, waiter, position});
  }
}

}  // namespace

LockFollower::LockFollower(std::string name)
    : name_(std::move(name)), channel_(lock::KeyNames(name_).channel) {}

std::vector<LockEvent> LockFollower::look(Snapshot now) {
  std::vector<LockEvent> events;
  const lock::Party holder = holder_of(now);
  if (!last_) {
    events.push_back({"state", holder});
  } else {
    const lock::Party before = holder_of(*last_);
    if (before.owner != holder.owner) {
      // Who releases says so on the channel; an expiry says nothing. Gone before its time without a
      // message, a lock was deleted by hand.
      const bool released = message_ || now.time_ms < expiry_of(*last_);
      if (!before.owner.empty()) events.push_back({released ? "released" : "expired", before});
      if (!holder.owner.empty()) events.push_back({"held", holder});
    } else if (now.held && expiry_of(now) > expiry_of(*last_) + k_same_expiry_ms) {
      events.push_back({"renewed", holder});
    }
    add_missing(events, "queued", now, *last_, "");
    // Whoever holds the lock now has not gone away.
    add_missing(events, "left", *last_, now, holder.owner);
  }
  message_ = false;
  last_ = std::move(now);
  return events;
}

}  // namespace rlock::cli
