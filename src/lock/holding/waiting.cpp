#include "lock/holding/waiting.hpp"

#include <algorithm>
#include <limits>

#include "base/duration.hpp"
#include "base/random.hpp"
#include "lock/holding/listener.hpp"
#include "lock/servers/outage_retry.hpp"
#include "lua_limits.hpp"

namespace rlock::lock {
namespace {

constexpr Milliseconds k_longest_sleep = lua::k_longest_sleep;
constexpr Milliseconds k_shortest_sleep{50};
// A waiter that only heard messages asks after this time: the holder and the number of listeners
// change.
constexpr Milliseconds k_longest_hearsay{30000};
// A called waiter has its time to come. At the end of this time, it is asked about once more.
constexpr Milliseconds k_longest_decision = lua::k_time_to_come + Milliseconds(500);
constexpr int k_most_late = 3;
constexpr int k_most_deaf = 3;
// A waiter reacts at once to this many messages. Each k_between_messages restores one of them.
constexpr int k_most_at_once = 50;
constexpr Milliseconds k_between_messages{50};
// The shortest time between the turns of two waiters. The first waiter's request, and the message
// that the lock is taken again, must fit into it.
constexpr std::chrono::microseconds k_shortest_turn{500};
// The longest time that a server needs to tell one listener. Meanwhile, it reads no requests.
constexpr std::chrono::microseconds k_telling{10};
// Limits the effect of an old count of listeners: most of them may have gone.
constexpr Milliseconds k_longest_turn{1000};

Milliseconds sleep_length(const Busy& busy) {
  const unsigned spread = random_below(1000);
  // Only the next waiter of a queue must notice that a lease has ended.
  const bool is_next = busy.place == 0 || !busy.overheard.empty();
  if (!busy.ask_after || (is_next && !busy.is_free())) return sleep_bound(busy.ttl, spread);
  if (is_next) return *busy.ask_after;
  return *busy.ask_after + *busy.ask_after * spread / 5000;
}

class Wait {
 public:
  Wait(Lock& lock, Session& session, const WaitOptions& options)
      : lock_(lock),
        session_(session),
        options_(options),
        outage_(std::min(options.deadline, options.outage_end), options.on_outage),
        silence_(std::min(options.deadline, options.outage_end), options.on_outage) {}

  std::optional<Hold> run() {
    // The first request must not survive an outage: it finds out whether there is a server at all.
    auto answer = options_.server_was_there ? ask_through_outages(Join::no)
                                            : lock_.try_acquire(session_, Join::no);
    while (true) {
      Join join = Join::yes;
      if (const Hold* hold = std::get_if<Hold>(&answer)) {
        // Ignore a lease that a deposed master granted, that nobody confirms, or that expired in
        // transit. Asking again extends the lease if it is still ours.
        if (!is_of_master(*hold)) {
          listener_.reset();  // it listens at the deposed master
        } else if (BootClock::now() < last_moment(hold->deadline, hold->lease, Milliseconds(0))) {
          return *hold;
        } else if (++late_ == k_most_late) {
          give_up_late();
        }
      } else if (BootClock::now() >= end() && !is_being_decided(std::get<Busy>(answer))) {
        const Busy& busy = std::get<Busy>(answer);
        if (busy.failure && BootClock::now() >= options_.deadline) {
          std::rethrow_exception(busy.failure);
        }
        if (!has_doubted_ && options_.doubts(busy)) {
          has_doubted_ = true;
          answer = ask_through_outages(Join::no);
          continue;
        }
        options_.on_refusal(busy);
        return std::nullopt;
      } else {
        join = sleep(std::get<Busy>(answer));
      }
      answer = ask_through_outages(join);
    }
  }

 private:
  [[nodiscard]] TimePoint end() const { return std::min(options_.deadline, options_.try_end); }

  // Returns whether to wait on, although the time is up: the lock is free, but it is the turn of a
  // waiter that has not come yet. Only a waiter that asks in time can tell that another one is
  // dead. Decides it soon, so that a run that does not wait is not refused as long as nobody asks.
  // Each dead waiter that has gone gives time to decide about the next one.
  bool is_being_decided(const Busy& busy) {
    if (!does_not_wait_ || !traits_of(lock_.kind()).queues || !busy.is_free()) return false;
    const int place = busy.place.value_or(std::numeric_limits<int>::max());
    if (!decided_by_ || place < decided_place_) {
      decided_by_ = after(BootClock::now(), k_longest_decision);
      decided_place_ = place;
    }
    return BootClock::now() < *decided_by_;
  }
  [[nodiscard]] TimePoint end_of_sleep() const {
    return std::max(end(), decided_by_.value_or(end()));
  }

  // Asks until the server answers.
  std::variant<Hold, Busy> ask_through_outages(Join join) {
    while (true) {
      try {
        const TimePoint asked = BootClock::now();
        auto answer = lock_.try_acquire(session_, join);
        // Another server answers now, so messages come from there, too.
        if (opened_ != session_.client().opened()) listener_.reset();
        round_trip_ = std::min(round_trip_, BootClock::now() - asked);
        outage_.reset();
        return answer;
      } catch (const Error& error) {
        disconnect();
        outage_.wait_or_throw(error, session_.wake_fd());
      }
    }
  }

  // A private server whose files were removed goes on as long as a program is connected to it. A
  // waiter holds nothing there, and must not keep the next server from being started.
  void disconnect() {
    listener_.reset();
    redis::Client& client = session_.client();
    if (client.options().endpoint.transport == redis::Endpoint::Transport::local) {
      client.disconnect();
    }
  }

  // A deposed master that comes back after a failover, or is cut off, grants a lock that the new
  // master has granted, too. The grant stays there: it vanishes when the deposed master becomes a
  // replica, and until then it keeps other clients from the same mistake.
  bool is_of_master(const Hold& hold) {
    try {
      return is_confirmed(hold);
    } catch (...) {
      release_grant();
      throw;
    }
  }

  // Only the sentinels, or another node of the cluster, know whether the server is a deposed
  // master. If none of them answers, the grant does not count.
  bool is_confirmed(const Hold& hold) {
    try {
      redis::Client& client = session_.client();
      const Milliseconds bound = std::min(hold.lease / 10, client.options().timeout);
      const bool is_it =
          client.confirm_master(lock_.name(), redis::k_age_of_word, after(BootClock::now(), bound));
      silence_.reset();
      return is_it;
    } catch (const Error& error) {
      silence_.wait_or_throw(error, session_.wake_fd());
      return false;
    }
  }

  void release_grant() noexcept {
    session_.set_wake_fd(-1);
    try {
      lock_.release(session_, Milliseconds(0));
    } catch (const std::exception&) {  // then the lock ends with its lease
    }
  }

  [[noreturn]] void give_up_late() {
    release_grant();
    throw redis::Unavailable(session_.display() + ": answers take longer than the lease of " +
                             format_duration(lock_.lease()));
  }

  // Returns when it is time to ask again. Returns at once after it has subscribed: the lock may
  // have become free before the server confirmed the subscription.
  Join sleep(const Busy& busy) {
    options_.on_wait(busy);
    const TimePoint asleep = BootClock::now();
    TimePoint until = std::min(after(asleep, sleep_length(busy)), end_of_sleep());
    try {
      if (!listener_) {
        opened_ = session_.client().opened();
        listener_.emplace(session_, lock_.channel());
        return Join::yes;
      }
      if (listener_->overhear(busy.overheard)) return Join::yes;
      const bool is_crowd = busy.waiters > 1;
      const auto tick = [&] {
        Busy now = busy;
        const auto slept = std::chrono::floor<Milliseconds>(BootClock::now() - asleep);
        if (now.held_for) *now.held_for += slept;
        options_.on_wait(now);
      };
      while (true) {
        const bool is_called = listener_->sleep(until, tick);
        deaf_ = 0;
        if (!is_called) {
          until = hearsay_end(asleep);
          if (BootClock::now() >= until) return Join::yes;
        } else if (!is_crowd || !listener_->hears_taken(std::min(turn(busy.waiters), until))) {
          heed_message(until);
          return is_crowd ? Join::called : Join::yes;
        }
      }
    } catch (const Error& error) {
      listener_.reset();
      outage_.wait_or_throw(error, session_.wake_fd());
      // The server answers requests, but accepts no subscription. So sleep without one.
      if (++deaf_ > k_most_deaf) redis::pause({until, session_.wake_fd()});
    }
    return Join::yes;
  }

  // Returns until when a waiter that has slept since `asleep` need not ask: other waiters have
  // asked, and told that the lock is taken.
  [[nodiscard]] TimePoint hearsay_end(TimePoint asleep) const {
    const Milliseconds usual = sleep_bound(std::nullopt, random_below(1000));
    return std::min(
        {after(listener_->last_taken(), usual), after(asleep, k_longest_hearsay), end_of_sleep()});
  }

  // Returns a random moment to ask, for one of `waiters` waiters that hear at the same moment that
  // the lock is free. On average one waiter asks at once, and then one in the time of a request.
  [[nodiscard]] TimePoint turn(int waiters) const {
    const auto each =
        std::max<BootClock::duration>({round_trip_, k_shortest_turn, waiters * k_telling});
    const auto place = static_cast<int>(random_below(static_cast<unsigned>(waiters) * 1000));
    const auto span = std::max(place - 1000, 0) * each / 1000;
    return BootClock::now() + std::min<BootClock::duration>(span, k_longest_turn);
  }

  // Call it for each message to react to. If too many came, pauses until `until` at most. Anybody
  // can send messages, and a lock that many clients share may cause any number of them.
  void heed_message(TimePoint until) {
    const TimePoint now = BootClock::now();
    used_up_ = after(std::max(used_up_, now), k_between_messages);
    const TimePoint next = used_up_ - k_most_at_once * k_between_messages;
    if (next > now) redis::pause({std::min(next, until), session_.wake_fd()});
  }

  Lock& lock_;
  Session& session_;
  const WaitOptions& options_;
  TimePoint used_up_;  // from then on, the waiter reacts to k_most_at_once messages at once again
  OutageRetry outage_;
  OutageRetry silence_;                                          // nobody confirms the master
  BootClock::duration round_trip_ = BootClock::duration::max();  // of the quickest request
  int late_ = 0;
  int deaf_ = 0;  // how often in a row it could not listen
  bool has_doubted_ = false;
  const bool does_not_wait_ = BootClock::now() >= options_.deadline;
  std::optional<TimePoint> decided_by_;  // see is_being_decided
  int decided_place_ = 0;                // its place in the queue when decided_by_ was set
  std::optional<Listener> listener_;
  int opened_ = 0;  // Client::opened when listener_ began
};

}  // namespace

Milliseconds sleep_bound(std::optional<Milliseconds> ttl, unsigned spread) {
  if (ttl && *ttl < k_longest_sleep) {
    return std::max(*ttl, k_shortest_sleep) + Milliseconds(1 + spread / 50);
  }
  return k_longest_sleep + Milliseconds(spread);
}

std::optional<Hold> wait_for_lock(Lock& lock, Session& session, const WaitOptions& options) {
  try {
    auto hold = Wait(lock, session, options).run();
    if (!hold) lock.stop_waiting(session);
    return hold;
  } catch (...) {
    lock.stop_waiting(session);
    throw;
  }
}

}  // namespace rlock::lock
