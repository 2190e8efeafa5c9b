// The thread that renews the leases of a run's locks every third of them, on a connection of its
// own.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "lock/kinds/lock.hpp"

namespace rlock::lock {

class Watchdog {
 public:
  // Which lock cannot be counted on any longer. lost: the server does not know it as ours any more.
  struct Verdict {
    enum class Kind { lost, expiring };
    Kind kind;
    const Lock* lock;
    std::string reason;  // why it is expiring
  };

  struct Options {
    SessionOptions session;
    // Whether to renew the leases; otherwise the server is asked only when `check` says so.
    bool renews = true;
    // Returns how long before the lease's end (and the time that SIGKILL takes) `expiring` is said.
    // Called in the watchdog's thread.
    std::function<Milliseconds()> reserve = [] { return Milliseconds(0); };
    // Called in the watchdog's thread with each new end of a lease.
    std::function<void(const Lock&, TimePoint)> on_renewed = [](const Lock&, TimePoint) {};
    // Called in the watchdog's thread, once, when there is a verdict. The other locks are kept on.
    std::function<void()> on_verdict = [] {};
    // Called in the watchdog's thread when all locks are known to be ours, after `check`.
    std::function<void()> on_checked = [] {};
  };

  explicit Watchdog(Options options);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() { stop(); }

  // Keeps one more lock, which must outlive this object. The first starts the thread. Throws
  // std::system_error if there is none to be had.
  void keep(const Lock& lock, const Hold& hold);

  // From now on requests go through this session, which nobody else may use until `stop` returns:
  // a server that takes no more connections cannot keep the lock from being renewed. To be called
  // before the first lock is kept.
  void use(Session& session);

  // Has every lock renewed, or asked for, at once.
  void check();

  // Ends the thread; no request of it is answered after that, and none is sent. Idempotent.
  void stop() noexcept;

  [[nodiscard]] std::optional<Verdict> verdict() const;

 private:
  struct Kept {
    const Lock* lock;
    Hold hold;
    TimePoint due;                         // when to renew it
    std::optional<std::string> failure{};  // of the last attempt
    std::optional<TimePoint> asked{};  // when `check` has asked for it, until there is an answer
  };

  void run() noexcept;
  // Renews until all are lost: a command that may run on after a loss counts on the others.
  void renew_all();
  void connect_early(Session& session) const;
  void tell(Verdict verdict);
  [[nodiscard]] std::optional<Verdict> renew(Kept& kept, Session& session);
  // Sleeps until a lock is to be renewed. Throws redis::Interrupted when the thread is to end.
  [[nodiscard]] Kept& next();
  [[nodiscard]] TimePoint next_renewal(const Lock& lock, const Hold& hold, TimePoint last) const;
  // Returns when the first lock has to be given up, of those for which that is after `now`: no lock
  // may be waited for any longer.
  [[nodiscard]] TimePoint first_give_up(TimePoint now) const;
  static void hear_of_failovers(Session& session, Milliseconds bound, TimePoint deadline);
  void set_due(Kept& kept, TimePoint when);
  // The lock is ours: a request that was sent at `sent` has said so.
  void note_answer(Kept& kept, TimePoint sent);
  // Has the alarm ring for the lock that is due first; with the mutex.
  Kept& set_alarm();

  Options options_;
  Session* session_ = nullptr;  // if it is not one of our own
  Event stop_;
  Alarm alarm_;
  mutable std::mutex mutex_;  // of the list, when its locks are due, and the verdict
  std::list<Kept> kept_;
  std::optional<Verdict> verdict_;
  std::thread thread_;
};

}  // namespace rlock::lock
