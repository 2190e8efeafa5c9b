#include "cli/taking/background_watchdog.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <poll.h>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/duration.hpp"
#include "base/percent.hpp"
#include "cli/settings/globals.hpp"
#include "cli/taking/held_locks.hpp"
#include "lock/holding/listener.hpp"
#include "redis/server_error.hpp"
#include "redis/socket.hpp"

namespace rlock::cli {
namespace {

constexpr Milliseconds k_between_questions{200};
constexpr Milliseconds k_shortest_check{1000};
constexpr Milliseconds k_longest_check{5000};
constexpr Milliseconds k_first_pause{100};  // before the next try to release
constexpr Milliseconds k_longest_pause{5000};
constexpr std::size_t k_descriptors_of_server = 4;
// With several servers, of which none has long to answer: before a renewal would be due.
constexpr Milliseconds k_patience{3000};

// What the process that takes the lock tells the one that keeps it. The boot clock is the same.
std::string to_message(const lock::Hold& hold) {
  std::ostringstream text;
  text << percent_encode(hold.owner) << ' ' << lock::run_of(hold) << ' ' << hold.lease.count()
       << ' ' << hold.deadline.time_since_epoch().count() << ' ' << hold.token.value_or(-1);
  return text.str();
}

lock::Hold from_message(const std::string& message) {
  std::istringstream text(message);
  std::string owner;
  std::string run;
  Milliseconds::rep lease = 0;
  TimePoint::rep deadline = 0;
  std::int64_t token = -1;
  text >> owner >> run >> lease >> deadline >> token;
  lock::Hold hold = lock::holds_among(run, percent_decode(owner).value_or("")).at(0);
  hold.lease = Milliseconds(lease);
  hold.deadline = TimePoint(TimePoint::duration(deadline));
  if (token >= 0) hold.token = token;
  return hold;
}

// Whether the hold was given back, or the lock is somebody else's. No answer means no: as long as
// the lease lasts, the watchdog asks again.
bool is_over(const lock::Lock& lock, lock::Session& session) {
  try {
    return lock.ask(session) == lock::Renewal::lost || lock.has_ended(session);
  } catch (const Error&) {
    return false;
  }
}

// Waits until the hold was given back or the lock is lost. Asks the server, and listens for
// messages where `may_listen`. Throws redis::Interrupted.
void wait_for_end(const lock::Lock& lock, lock::Session& session, bool may_listen) {
  // No message is sent when one hold of several is given back.
  const Milliseconds interval =
      std::clamp<Milliseconds>(lock.lease() / 3, k_shortest_check, k_longest_check);
  std::optional<lock::Listener> listener;
  while (true) {
    try {
      if (may_listen && !listener) listener.emplace(session, lock::Channel{lock.channel().name});
    } catch (const Error&) {  // then by asking alone
    }
    if (is_over(lock, session)) return;
    // Where others share the lock there can be any number of messages.
    redis::pause({after(BootClock::now(), k_between_questions), session.wake_fd()});
    const TimePoint next = after(BootClock::now(), interval);
    try {
      if (listener) {
        (void)listener->sleep(next, [] {});
        continue;
      }
    } catch (const Error&) {
      listener.reset();
    }
    redis::pause({next, session.wake_fd()});
  }
}

// Releases the hold. Tries again until the server has done it, or the lease has ended. This process
// has nothing else to do, and nobody to report to.
void release_until_done(HeldLocks& locks, const lock::Lock& lock, lock::Session& session) {
  for (Milliseconds pause = k_first_pause;; pause = std::min(pause * 2, k_longest_pause)) {
    locks.release(Milliseconds(0));
    if (BootClock::now() >= locks.end() || is_over(lock, session)) return;
    redis::pause({std::min(after(BootClock::now(), pause), locks.end())});
  }
}

// Throws Error (unavailable) if there are too few descriptors for the connections that are made
// later: of two sessions, of a listener, and for the look-up of a name.
void check_descriptors(const lock::SessionOptions& servers) {
  const std::vector<Event> places(k_descriptors_of_server * (servers.servers.size() + 1));
}

// Throws Error (unavailable) unless the watchdog reaches the servers. It keeps these connections,
// because the servers may accept no more of them when the first renewal is due.
void wait_for_first_answer(HeldLocks& locks, lock::Session& session, Milliseconds bound) {
  locks.ask();
  const redis::Deadline deadline{after(BootClock::now(), bound), session.wake_fd()};
  if (!redis::wait_for(locks.answer_fd(), POLLIN, deadline)) {
    throw Error(ExitStatus::unavailable, session.display() +
                                             ": no answer to the background process within " +
                                             format_duration(bound));
  }
}

void keep(lock::Wish wish, lock::SessionOptions servers, const std::string& message,
          const Fd& caller, const std::function<void()>& started) {
  wish.hold = from_message(message);
  // Where nothing on the server tells of this process, it would count as a waiter.
  const bool is_told = wish.about.listens && wish.hold->standing == lock::Hold::Standing::granted;
  const bool may_listen = lock::traits_of(wish.kind).queues || is_told;
  servers.client.wake_fd = -1;
  servers.client.name = client_name();  // it was that of the process that took the lock
  lock::Session session(servers);
  HeldLock held{lock::make_lock(wish, session), *wish.hold};
  const lock::Lock& lock = *held.lock;
  HeldLocks locks(session, {.watchdog_session = servers});
  locks.add(std::move(held));
  locks.start_watchdog(HeldLocks::Use::own_session);
  const Fd wake = either(caller.get(), locks.lost_fd());
  session.set_wake_fd(wake.get());
  check_descriptors(servers);
  try {
    wait_for_first_answer(locks, session,
                          std::max(servers.client.timeout, std::min(k_patience, lock.lease() / 3)));
    started();
    wait_for_end(lock, session, may_listen);
  } catch (const redis::Interrupted&) {
    if (process::has_ended(caller)) return release_until_done(locks, lock, session);
  }
  if (session.nodes().empty()) return;
  // A client that released by the owner alone could not name the hold to several servers. It may
  // not have reached all of them yet, and must still find the lock there.
  redis::pause({after(BootClock::now(), k_shortest_check)});
  locks.release(Milliseconds(0));
}

}  // namespace

BackgroundWatchdog::BackgroundWatchdog(const lock::Wish& wish, const lock::SessionOptions& servers,
                                       const process::Watched& caller)
    : process_(caller.handle,
               [&](const std::string& message, const std::function<void()>& started) {
                 keep(wish, servers, message, caller.handle, started);
               }) {}

void BackgroundWatchdog::hand_over(const lock::Hold& hold) { process_.hand_over(to_message(hold)); }

}  // namespace rlock::cli
