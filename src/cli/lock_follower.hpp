// What happened to a lock between two snapshots of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lock/snapshot.hpp"

namespace rlock::cli {

struct LockEvent {
  std::string what;   // "state", "held", "released", "expired", "renewed", "queued" or "left"
  lock::Party party;  // whose event it is; an empty owner if nobody's
  std::size_t position = 0;  // of "queued": the place in the queue; 1 is the next
};

class LockFollower {
 public:
  explicit LockFollower(std::string name);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Returns the channel that says that the lock became free.
  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }

  // Notes that a message came on the channel since the last snapshot.
  void message_came() noexcept { message_ = true; }
  // Returns what has happened since the last snapshot, of which `now` takes the place; the first
  // time that is the "state".
  [[nodiscard]] std::vector<LockEvent> look(lock::Snapshot now);
  // Returns the last snapshot. There must be one.
  [[nodiscard]] const lock::Snapshot& last() const { return *last_; }

 private:
  std::string name_;
  std::string channel_;
  bool message_ = false;
  std::optional<lock::Snapshot> last_;
};

}  // namespace rlock::cli
