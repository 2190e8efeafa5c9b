// What happened to a lock between two snapshots of it.
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

  // Notes a release of which a message told: one message is one release.
  void hear_release() noexcept {
    hear(End::released);
    ++releases_;
  }

  // Says that the snapshot of the next `look` is asked for now: whatever was heard before belongs
  // to it, and what is heard from now on may belong to it, or to the one after.
  void begin_look() noexcept { certain_ = releases_; }

  // Returns what has happened since the last snapshot, of which `now` takes the place; before that
  // comes the "state" the first time, and whenever there is a `message` to go with it. A release
  // that no two snapshots show is a "released" without an owner.
  [[nodiscard]] std::vector<LockEvent> look(SnapshotPtr now, const std::string& message = "");

 private:
  [[nodiscard]] std::size_t take_unseen(std::size_t seen) noexcept;

  End heard_ = End::unknown;
  std::size_t releases_ = 0;  // heard, and told of by no snapshot yet
  std::size_t certain_ = 0;   // of these: before the snapshot was asked for
  std::size_t late_ = 0;      // seen at the last look, their messages not heard yet
  SnapshotPtr last_;
};

}  // namespace rlock::cli
