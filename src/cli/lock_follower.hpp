// What happened to a lock between two snapshots of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lock/snapshot.hpp"

namespace rlock::cli {

using SnapshotPtr = std::shared_ptr<const lock::Snapshot>;

struct LockEvent {
  std::string what;   // "state", "held", "released", "expired", "renewed", "queued" or "left"
  lock::Party party;  // whose event it is; an empty owner if nobody's
  std::size_t position = 0;  // of "queued": the place in the queue; 1 is the next
  std::string message{};     // of a "state" after an outage: that it is over
};

class LockFollower {
 public:
  enum class End { unknown, released, expired };

  // Notes what was heard of how a hold ended since the last snapshot; the first counts.
  void hear(End end) noexcept {
    if (heard_ == End::unknown) heard_ = end;
  }

  // Returns what has happened since the last snapshot, of which `now` takes the place; before that
  // comes the "state" the first time, and whenever there is a `message` to go with it.
  [[nodiscard]] std::vector<LockEvent> look(SnapshotPtr now, const std::string& message = "");

 private:
  End heard_ = End::unknown;
  SnapshotPtr last_;
};

}  // namespace rlock::cli
