#include "cli/lock_follower.hpp"

#include <unordered_set>
#include <utility>

#include "lock/key_names.hpp"

namespace rlock::cli {
namespace {

using lock::Snapshot;

// Two readings of one expiry differ by the server's rounding; a renewal moves it by far more.
constexpr std::int64_t k_same_expiry_ms = 50;

std::string holder_of(const Snapshot& snapshot) {
  return snapshot.holders.empty() ? "" : snapshot.holders.front().owner;
}

std::int64_t expiry_of(const Snapshot& snapshot) {
  constexpr std::int64_t k_never = 9'000'000'000'000'000;
  const std::int64_t ttl = snapshot.ttl_ms.value_or(0);
  return ttl < 0 ? k_never : snapshot.time_ms + ttl;
}

// Adds an event for each member of `here` that is not in `there`.
void add_missing(std::vector<LockEvent>& events, const char* what,
                 const std::vector<std::string>& here, const std::vector<std::string>& there) {
  const std::unordered_set<std::string> known(there.begin(), there.end());
  for (const std::string& member : here) {
    if (!known.contains(member)) events.push_back({what, member});
  }
}

}  // namespace

LockFollower::LockFollower(std::string name)
    : name_(std::move(name)), channel_(lock::KeyNames(name_).channel) {}

std::vector<LockEvent> LockFollower::look(Snapshot now) {
  std::vector<LockEvent> events;
  const std::string holder = holder_of(now);
  if (!last_) {
    events.push_back({"state", holder});
  } else {
    const std::string before = holder_of(*last_);
    if (before != holder) {
      // Who releases says so on the channel; an expiry says nothing. Gone before its time without a
      // message, a lock was deleted by hand.
      const bool released = message_ || now.time_ms < expiry_of(*last_);
      if (!before.empty()) events.push_back({released ? "released" : "expired", before});
      if (!holder.empty()) events.push_back({"held", holder});
    } else if (now.held && expiry_of(now) > expiry_of(*last_) + k_same_expiry_ms) {
      events.push_back({"renewed", holder});
    }
    add_missing(events, "queued", now.queue, last_->queue);
    // Whoever holds the lock now has not gone away.
    std::vector<std::string> here = now.queue;
    here.push_back(holder);
    add_missing(events, "left", last_->queue, here);
  }
  message_ = false;
  last_ = std::move(now);
  return events;
}

}  // namespace rlock::cli
