#include "lock/waiting.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>

#include "base/duration.hpp"
#include "base/random.hpp"
#include "redis/server_error.hpp"
#include "redis/subscription.hpp"

namespace rlock::lock {
namespace {

constexpr Milliseconds k_longest_sleep{5000};
constexpr Milliseconds k_shortest_sleep{50};
constexpr Milliseconds k_tick{1000};
constexpr Milliseconds k_longest_outage{60'000};
constexpr Milliseconds k_first_pause{100};
constexpr Milliseconds k_longest_pause{1000};
constexpr int k_most_late = 3;

// How a wait copes with a server that does not answer: asks again, less and less often, and gives
// up after a minute or at the wait's own deadline.
class Outage {
 public:
  explicit Outage(const WaitOptions& options) : options_(options) {}

  void over() {
    until_.reset();
    pause_ = k_first_pause;
  }

  // Called while `error` is handled: sleeps before the next attempt. Throws `error` again if it is
  // not temporary, or when it is time to give up.
  void bear(const Error& error, int wake_fd) {
    if (!error.is_temporary()) throw;
    const TimePoint now = BootClock::now();
    if (!until_) {
      until_ = std::min(after(now, k_longest_outage), options_.deadline);
      options_.on_outage(error);
    }
    if (now >= *until_) throw;
    redis::pause({std::min(after(now, pause_), *until_), wake_fd});
    pause_ = std::min(pause_ * 2, k_longest_pause);
  }

 private:
  const WaitOptions& options_;
  std::optional<TimePoint> until_;
  Milliseconds pause_ = k_first_pause;
};

// Sleeps until a message comes or `until`; ticks meanwhile.
void sleep_on(redis::Subscription& subscription, int wake_fd, TimePoint until,
              const std::function<void()>& tick) {
  while (subscription.drain().empty()) {
    const TimePoint now = BootClock::now();
    if (now >= until) return;
    const TimePoint next = std::min(until, after(now, k_tick));
    if (!redis::wait_for(subscription.fd(), POLLIN, {next, wake_fd}) && next != until) tick();
  }
}

Milliseconds sleep_length(const Busy& busy) {
  const unsigned spread = random_below(1000);
  // Only the head of a queue has to notice that a lease has ended.
  if (busy.ask_after && busy.place != 0) {
    return *busy.ask_after + *busy.ask_after * spread / 5000;
  }
  return sleep_bound(busy.ttl, spread);
}

class Wait {
 public:
  Wait(ReentrantLock& lock, redis::Client& client, const WaitOptions& options)
      : lock_(lock), client_(client), options_(options), outage_(options) {}

  std::optional<Lease> run() {
    // The first request decides whether the server is there at all: no patience with it.
    auto answer = lock_.try_acquire(client_, Join::no);
    while (true) {
      if (const Lease* lease = std::get_if<Lease>(&answer)) {
        // A lease that ended on its way here is none: ask again, which extends it if it is ours.
        if (BootClock::now() < last_moment(lease->deadline, lease->length, Milliseconds(0))) {
          return *lease;
        }
        if (++late_ == k_most_late) give_up_late();
      } else if (BootClock::now() >= options_.deadline) {
        options_.on_refusal(std::get<Busy>(answer));
        return std::nullopt;
      } else {
        sleep(std::get<Busy>(answer));
      }
      answer = ask_again();
    }
  }

 private:
  // Asks whatever the server goes through meanwhile.
  std::variant<Lease, Busy> ask_again() {
    while (true) {
      try {
        auto answer = lock_.try_acquire(client_, Join::yes);
        outage_.over();
        return answer;
      } catch (const Error& error) {
        subscription_.reset();
        outage_.bear(error, client_.options().wake_fd);
      }
    }
  }

  [[noreturn]] void give_up_late() {
    client_.set_wake_fd(-1);
    lock_.release(client_);
    throw redis::Unavailable(client_.options().endpoint.display() +
                             ": answers take longer than the lease of " +
                             format_duration(lock_.lease()));
  }

  // Returns when it is time to ask again: at once after subscribing, since the lock may have become
  // free before the server had confirmed that.
  void sleep(const Busy& busy) {
    options_.on_wait(busy);
    const TimePoint asleep = BootClock::now();
    const TimePoint until = std::min(after(asleep, sleep_length(busy)), options_.deadline);
    try {
      if (!subscription_) {
        subscription_.emplace(client_.options(), std::vector{lock_.channel()});
        return;
      }
      sleep_on(*subscription_, client_.options().wake_fd, until, [&] {
        Busy now = busy;
        const auto slept = std::chrono::floor<Milliseconds>(BootClock::now() - asleep);
        if (now.held_for) *now.held_for += slept;
        options_.on_wait(now);
      });
    } catch (const Error& error) {
      subscription_.reset();
      outage_.bear(error, client_.options().wake_fd);
    }
  }

  ReentrantLock& lock_;
  redis::Client& client_;
  const WaitOptions& options_;
  Outage outage_;
  int late_ = 0;
  std::optional<redis::Subscription> subscription_;
};

}  // namespace

Milliseconds sleep_bound(std::optional<Milliseconds> ttl, unsigned spread) {
  if (ttl && *ttl < k_longest_sleep) {
    return std::max(*ttl, k_shortest_sleep) + Milliseconds(1 + spread / 50);
  }
  return k_longest_sleep + Milliseconds(spread);
}

std::optional<Lease> wait_for_lock(ReentrantLock& lock, redis::Client& client,
                                   const WaitOptions& options) {
  try {
    auto lease = Wait(lock, client, options).run();
    if (!lease) lock.give_up(client);
    return lease;
  } catch (...) {
    lock.give_up(client);
    throw;
  }
}

}  // namespace rlock::lock
