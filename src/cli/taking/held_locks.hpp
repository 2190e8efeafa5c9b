// The locks that a run of exec holds, from the moment they are taken until they are given back.
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
    // Called, in any thread but the first time, with the end of the lease that ends first.
    std::function<void(TimePoint)> on_end_moved;
  };

  // `session` must outlive this object.
  HeldLocks(lock::Session& session, Options options);

  void add(Taken taken);
  // Has the watchdog keep those locks that it does not keep yet. `use`: whether it may do so
  // through our session, as nobody else uses that until `release`. Throws Error (unavailable) if
  // there is no thread to be had; then it may be tried again.
  enum class Use { own_session, our_session };
  void start_watchdog(Use use);

  // Returns a descriptor that becomes readable when a lock cannot be counted on any longer.
  [[nodiscard]] int lost_fd() const noexcept { return lost_.fd(); }
  // Returns whether the watchdog has said so, or no time is left to end a command in.
  [[nodiscard]] bool is_lost() const;
  // Returns the end of the lease that ends first.
  [[nodiscard]] TimePoint end() const;
  // Returns when a lock cannot be counted on any longer unless the watchdog is started by then.
  [[nodiscard]] TimePoint loss_time() const;
  // Has the servers asked whether all locks are still ours, and does not wait for that: if so,
  // answer_fd() becomes readable; if not, lost_fd().
  void ask();
  [[nodiscard]] int answer_fd() const noexcept { return answer_.fd(); }
  // In the order of their names.
  void for_each(const std::function<void(const Taken&)>& action) const;

  // Says on stderr what was lost, and why: `otherwise`, where nothing else is known.
  void report_loss(const std::string& otherwise) const;

  // Ends the watchdog and gives the locks back, the last one first; with `keep`, they stay taken
  // for so long all the same. What cannot be given back, or is lost, ends with its lease.
  // Returns the names of those that turned out to be ours no longer.
  std::vector<std::string> release(Milliseconds keep) noexcept;
  // Gives all of them back, before the command was started, to take them later.
  void let_go() noexcept;

 private:
  struct Hold {
    explicit Hold(Taken now) : taken(std::move(now)), end(taken.lease.deadline) {}
    Taken taken;
    TimePoint end;
    bool is_kept = false;  // by the watchdog
  };

  [[nodiscard]] TimePoint first_end() const;               // with the mutex
  [[nodiscard]] bool is_too_late(const Hold& hold) const;  // with the mutex
  void note_end(const lock::Lock& lock, TimePoint when);
  void watch(Use use);

  lock::Session& session_;
  Options options_;
  Event lost_;
  Event answer_;
  std::string failure_;       // to start the watchdog
  mutable std::mutex mutex_;  // of the list and every Hold's `end`
  std::list<Hold> holds_;
  std::optional<lock::Watchdog> watchdog_;
};

}  // namespace rlock::cli
