// The thread that renews the leases of a run's locks, at least every third of a lease.
#pragma once

#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "base/fd.hpp"
#include "lock/kinds/lock.hpp"

namespace rlock::lock {

class Watchdog {
 public:
  // The lock that the run can no longer rely on. lost: the server says that it is no longer ours.
  // expiring: just enough time is left to end the command.
  struct Verdict {
    enum class Kind { lost, expiring };
    Kind kind;
    const Lock* lock;
    std::exception_ptr why;  // the lease is expiring; null: no time was left to renew it
  };

  struct Options {
    SessionOptions session;
    // Whether to renew the leases. If not, the watchdog asks the server only after `check`.
    bool renews = true;
    // Returns the time to keep free between `expiring` and SIGKILL. Called in the watchdog's
    // thread.
    std::function<Milliseconds()> reserve = [] { return Milliseconds(0); };
    // Called in the watchdog's thread with each new deadline of a lease.
    std::function<void(const Lock&, TimePoint)> on_renewed = [](const Lock&, TimePoint) {};
    // Called in the watchdog's thread, once, when there is a verdict. The watchdog goes on to renew
    // the other locks.
    std::function<void()> on_verdict = [] {};
    // Called in the watchdog's thread when, after `check`, the server has confirmed all locks.
    std::function<void()> on_checked = [] {};
  };

  explicit Watchdog(Options options);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() { stop(); }

  // Renews one more lock, which must outlive this object. The first lock starts the thread. Throws
  // std::system_error if the thread cannot be started.
  void keep(const Lock& lock, const Hold& hold);

  // Sends requests through this session, which nobody else may use until `stop` returns. So a
  // server that accepts no more connections cannot prevent renewals. Call it before the first
  // `keep`.
  void use(Session& session);

  // Makes the thread renew every lock, or ask for it, at once.
  void check();

  // Ends the thread. After that it sends no request, and uses no answer. May be called twice.
  void stop() noexcept;

  [[nodiscard]] std::optional<Verdict> verdict() const;

 private:
  struct RenewedLock {
    const Lock* lock;
    Hold hold;
    TimePoint due;                     // when to renew or ask
    std::exception_ptr failure{};      // of the last attempt
    std::optional<TimePoint> asked{};  // the moment of a `check` without an answer yet
  };

  void run() noexcept;
  // Renews until all locks are lost. A command that may run on after a loss relies on the others.
  void renew_all();
  void connect_early(Session& session) const;
  void tell(Verdict verdict);
  [[nodiscard]] std::optional<Verdict> renew(RenewedLock& kept, Session& session);
  // Sleeps until a lock is due. Throws redis::Interrupted when the thread must end.
  [[nodiscard]] RenewedLock& next();
  [[nodiscard]] TimePoint next_renewal(const Lock& lock, const Hold& hold, TimePoint last) const;
  // Returns the next moment after `now` at which the watchdog must give up a lock. No request may
  // take longer.
  [[nodiscard]] TimePoint first_give_up(TimePoint now) const;
  static void hear_of_failovers(Session& session, Milliseconds bound, TimePoint deadline);
  void set_due(RenewedLock& kept, TimePoint when);
  // Notes that the answer to a request of `sent` confirmed the lock.
  void note_answer(RenewedLock& kept, TimePoint sent);
  using Guard = std::lock_guard<std::mutex>;  // of mutex_
  // Sets the alarm for the lock that is due first, and returns it.
  RenewedLock& set_alarm(const Guard& guard);

  Options options_;
  Session* session_ = nullptr;  // the session of `use`; null: the thread makes its own
  Event stop_;
  Alarm alarm_;
  mutable std::mutex mutex_;  // guards kept_, its due and asked, and verdict_
  std::list<RenewedLock> kept_;
  std::optional<Verdict> verdict_;
  std::thread thread_;
};

}  // namespace rlock::lock
