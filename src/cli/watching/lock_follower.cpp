#include "cli/watching/lock_follower.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "lock/words/owner_info.hpp"

namespace rlock::cli {
namespace {

using lock::Snapshot;
using Owners = std::unordered_set<std::string>;

// Two readings of one expiry differ by the server's rounding; a renewal moves it by far more.
constexpr std::int64_t k_same_expiry_ms = 50;

lock::Party first_holder(const Snapshot& snapshot) {
  if (snapshot.holders.empty()) return {};
  return snapshot.holders.front();
}

// Returns until when the lock is kept after the run of its first holder, or 0.
std::int64_t kept_until(const Snapshot& snapshot) {
  return first_holder(snapshot).about.kept_until_ms;
}

Owners holders_of(const Snapshot& snapshot) {
  Owners owners;
  for (const lock::Holder& holder : snapshot.holders) owners.insert(holder.owner);
  return owners;
}

std::int64_t expiry_of(const Snapshot& snapshot) {
  const std::int64_t ttl = snapshot.ttl_ms.value_or(0);
  return ttl < 0 ? lock::k_furthest_ms : snapshot.time_ms + ttl;
}

// Adds an event for each waiter of `here` who is not one of `known`, nor waits `there`.
void add_waiters(std::vector<LockEvent>& events, const char* what, const Snapshot& here,
                 const Snapshot& there, Owners known) {
  known.insert(there.queue.begin(), there.queue.end());
  std::size_t position = 0;
  for (const lock::Waiter& waiter : here.waiters) {
    ++position;
    if (!known.contains(waiter.owner)) events.push_back({what, waiter, position});
  }
}

void add_changes(std::vector<LockEvent>& events, const Snapshot& before, const Snapshot& now,
                 LockFollower::End heard) {
  // A release is published on the channel. An expiry is published only if the server publishes
  // changes of keys. A lock that is gone before its time without any message was deleted by hand.
  const auto has_expired = [&](std::int64_t end) {
    return heard == LockFollower::End::expired ||
           (heard == LockFollower::End::unknown && now.time_ms >= end);
  };
  const bool expired = has_expired(expiry_of(before));
  const std::size_t count = events.size();
  const Owners holders = holders_of(now);
  for (const lock::Holder& holder : before.holders) {
    if (holders.contains(holder.owner)) continue;
    const bool is_over = holder.ends_ms ? has_expired(*holder.ends_ms) : expired;
    events.push_back({is_over ? "expired" : "released", holder});
  }
  const Owners before_holders = holders_of(before);
  for (const lock::Holder& holder : now.holders) {
    if (!before_holders.contains(holder.owner)) events.push_back({"held", holder});
  }
  if (count == events.size()) {
    const bool is_later = expiry_of(now) > expiry_of(before) + k_same_expiry_ms;
    if (now.held && before.held && (is_later || kept_until(now) != kept_until(before))) {
      events.push_back({"renewed", first_holder(now)});
    } else if (now.held != before.held) {  // by something that is no lock, and has no holders
      events.push_back({now.held ? "held" : expired ? "expired" : "released", {}});
    }
  }
  add_waiters(events, "queued", now, before, {});
  // Whoever holds the lock now has not gone away.
  add_waiters(events, "left", before, now, holders);
}

}  // namespace

// Returns how many releases only messages reported. `seen`: the releases that the snapshots show.
// In doubt, a release is not counted: its message may be late, or belong to the next snapshot, and
// no release may be reported twice.
std::size_t LockFollower::take_unseen(std::size_t seen) noexcept {
  const auto take = [this](std::size_t count) {
    count = std::min(count, releases_);
    releases_ -= count;
    certain_ -= std::min(count, certain_);
    return count;
  };
  take(late_);
  late_ = seen - take(seen);
  return take(certain_);
}

std::vector<LockEvent> LockFollower::look(SnapshotPtr now, const std::string& message) {
  std::vector<LockEvent> events;
  if (!last_ || !message.empty()) events.push_back({"state", first_holder(*now), 0, message});
  const auto start = static_cast<std::ptrdiff_t>(events.size());
  if (last_) add_changes(events, *last_, *now, heard_);
  const auto is_release = [](const LockEvent& event) { return event.what == "released"; };
  const std::size_t unseen =
      take_unseen(static_cast<std::size_t>(std::ranges::count_if(events, is_release)));
  if (last_) {  // after the ends that were seen, before what is there now
    const auto place = std::find_if(events.begin() + start, events.end(), [](const auto& event) {
      return event.what != "released" && event.what != "expired";
    });
    events.insert(place, unseen, {"released", {}});
  }
  heard_ = End::unknown;
  last_ = std::move(now);
  return events;
}

}  // namespace rlock::cli
