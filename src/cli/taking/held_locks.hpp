// The locks that a run of exec holds, from their grant to their release.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "cli/taking/taking.hpp"
#include "lock/holding/watchdog.hpp"

namespace rlock::cli {

class HeldLocks {
 public:
  struct Options {
    lock::SessionOptions watchdog_session;
    bool renew = true;
    std::function<Milliseconds()> reserve = [] { return Milliseconds(0); };  // as the watchdog's
    // Called with the end of the lease that ends first. The first call is in this thread, later
    // calls may be in any thread.
    std::function<void(TimePoint)> on_end_moved = [](TimePoint) {};
  };

  // `session` must outlive this object.
  HeldLocks(lock::Session& session, Options options);

  void add(HeldLock held);
  // Lets the watchdog renew the locks that it does not renew yet. `use`: whether it uses this
  // object's session. Then no other code may use that session until `release`. Throws Error
  // (unavailable) if no thread can be started. It may be called again then.
  enum class Use { own_session, our_session };
  void start_watchdog(Use use);

  // Throws Error (unavailable) if the watchdog has ended because the system denied it something.
  void check_watchdog() const;

  // Returns a descriptor that becomes readable when a lock is lost.
  [[nodiscard]] int lost_fd() const noexcept { return lost_.fd(); }
  // Returns whether the watchdog has reported a loss, or no time is left to end a command.
  [[nodiscard]] bool is_lost() const;
  // Returns the end of the lease that ends first.
  [[nodiscard]] TimePoint end() const;
  // Returns the moment at which a lock is lost if the watchdog is not started before. Returns
  // TimePoint::max() if the watchdog renews all locks.
  [[nodiscard]] TimePoint loss_time() const;
  // Lets the watchdog ask the servers whether this run still holds all locks. Does not wait for the
  // answer. If it does, answer_fd() becomes readable. If not, lost_fd() does.
  void ask();
  [[nodiscard]] int answer_fd() const noexcept { return answer_.fd(); }
  // Calls `action` with each lock, in the order of their names.
  void for_each(const std::function<void(const HeldLock&)>& action) const;

  // Reports on stderr which lock was lost, and why. `otherwise` is the reason if no other is known.
  void report_loss(const std::string& otherwise) const;

  // Names of locks that were not released.
  struct Released {
    std::vector<std::string> not_held;  // this run did not hold them any more
    std::vector<std::string> ended;     // their leases ended before their servers answered
  };
  // Ends the watchdog and releases the locks, the last lock first. With `keep`, the locks stay on
  // the server for this time. A lock that cannot be released, or is lost, ends with its lease. A
  // server that does not answer is waited for once, and not longer than the lease.
  Released release(Milliseconds keep) noexcept;
  // Releases all locks before the command is started, to take them again later. Returns false if
  // one may be left on a server.
  bool release_all() noexcept;

 private:
  struct Entry : HeldLock {
    bool is_kept = false;  // the watchdog renews it
  };

  using Guard = std::lock_guard<std::mutex>;  // of mutex_
  [[nodiscard]] TimePoint first_end(const Guard& guard) const;
  [[nodiscard]] TimePoint last_moment(const Entry& entry, const Guard& guard) const;
  [[nodiscard]] std::string names() const;  // such as "a and 1 more"; there is one at least
  void note_end(const lock::Lock& lock, TimePoint when);
  void watch(Use use);

  lock::Session& session_;
  Options options_;
  Event lost_;
  Event answer_;
  std::string failure_;       // why the watchdog could not be started
  mutable std::mutex mutex_;  // of the list, and the deadline of every hold
  std::list<Entry> entries_;
  bool is_one_left_ = false;  // `release` could not give it back
  std::optional<lock::Watchdog> watchdog_;
};

}  // namespace rlock::cli
