// Finds out what happened to a lock between two snapshots.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

using SnapshotPtr = std::shared_ptr<const lock::Snapshot>;

struct LockEvent {
  std::string what;   // "state", "held", "released", "expired", "renewed", "queued" or "left"
  lock::Party party;  // the holder or waiter of the event. Its owner is empty if unknown
  std::size_t position = 0;  // for "queued": the position in the queue; 1 is the next
  std::string message{};     // for a "state" after an outage: says that the outage is over
};

class LockFollower {
 public:
  enum class End { unknown, released, expired };

  // Notes how a hold ended, as a message said since the last snapshot. Only the first call counts.
  void hear(End end) noexcept {
    if (heard_ == End::unknown) heard_ = end;
  }

  // Notes a release, which a message reported. One message is one release, but anybody can send
  // messages: of very many between two snapshots, only the first ones count.
  void hear_release() noexcept {
    hear(End::released);
    if (releases_ < k_most_releases) ++releases_;
  }

  // Call it right before the snapshot for the next `look` is requested. Messages before this call
  // belong to that snapshot. Later messages may belong to that snapshot or to the one after it.
  void begin_look() noexcept { certain_ = releases_; }

  // Returns what has happened since the last snapshot, and keeps `now` as the last snapshot. At the
  // first call, or with a `message`, the first event is a "state". A release that only a message
  // reported is a "released" without an owner.
  [[nodiscard]] std::vector<LockEvent> look(SnapshotPtr now, const std::string& message = "");

 private:
  static constexpr std::size_t k_most_releases = 1000;

  [[nodiscard]] std::size_t take_unseen(std::size_t seen) noexcept;

  End heard_ = End::unknown;
  std::size_t releases_ = 0;  // reported by messages, not shown by a snapshot yet
  std::size_t certain_ = 0;   // of these: reported before the snapshot was requested
  std::size_t late_ = 0;      // shown by the last snapshot, not reported by a message yet
  SnapshotPtr last_;
};

}  // namespace rlock::cli
