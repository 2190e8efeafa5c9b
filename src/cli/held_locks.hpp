// The locks that a run of exec holds, from the moment they are taken until they are given back.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "cli/taking.hpp"
#include "lock/watchdog.hpp"
#include "redis/client.hpp"

namespace rlock::cli {

class HeldLocks {
 public:
  struct Options {
    redis::ClientOptions watchdog_client;
    bool renew = true;
    Milliseconds reserve{};  // see Watchdog::Options
    // Called, in any thread, with the end of the lease that ends first.
    std::function<void(TimePoint)> on_end_moved;
  };

  // `client` must outlive this object.
  HeldLocks(redis::Client& client, Options options);

  void add(Taken taken);
  // Starts the watchdogs that do not run yet. Throws std::system_error if there is no thread to be
  // had.
  void start_watchdogs();

  // Returns a descriptor that becomes readable when a lock cannot be counted on any longer.
  [[nodiscard]] int lost_fd() const noexcept { return lost_.fd(); }
  // Returns whether a watchdog has said so.
  [[nodiscard]] bool is_lost() const;
  // Returns the end of the lease that ends first.
  [[nodiscard]] TimePoint end() const;
  // Asks the server whether all locks are still ours; no answer means no.
  [[nodiscard]] bool are_ours();
  void for_each(const std::function<void(const lock::ReentrantLock&)>& action) const;

  // Says on stderr what was lost, and why.
  void report_loss() const;

  // Ends the watchdogs and gives the locks back, the last one first; with `keep`, they stay taken
  // for so long all the same. What cannot be given back, or is lost, ends with its lease.
  // Returns the names of those that turned out to be ours no longer.
  std::vector<std::string> release(Milliseconds keep) noexcept;

 private:
  struct Hold {
    explicit Hold(Taken taken_now) : taken(std::move(taken_now)) {}
    Taken taken;
    TimePoint end;
    std::optional<lock::Watchdog> watchdog;
  };

  void note_end(Hold& hold, TimePoint when);

  redis::Client& client_;
  Options options_;
  Event lost_;
  mutable std::mutex mutex_;  // of every Hold's `end`
  std::list<Hold> holds_;
};

}  // namespace rlock::cli
