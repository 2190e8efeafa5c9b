#include "lock/holding/listener.hpp"

#include <algorithm>
#include <poll.h>

#include "lock/servers/tally.hpp"
#include "lock/words/key_names.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

constexpr Milliseconds k_tick{1000};
// A release goes to all servers at once. Servers that it has not reached yet refuse a waiter.
constexpr Milliseconds k_between_calls{5};

}  // namespace

Listener::Listener(Session& session, const Channel& channel)
    : session_(session), taken_(channel.taken) {
  const std::vector<std::string> channels = {channel.name};
  if (session.nodes().empty()) {
    subscribed_.push_back(
        std::make_shared<redis::Subscription>(session.client().options(), channels));
    has_called_.resize(1);
  } else {
    ballot_.emplace(session, [channels](std::size_t /*i*/, redis::Client& client) {
      return std::make_shared<redis::Subscription>(client.options(), channels);
    });
    const Majority majority{session.nodes().size()};
    needed_ = majority.needed();
    const auto is_enough = [&](const auto& votes) {
      return count_votes(votes, [](const auto& vote) { return vote.answer.has_value(); }) >=
             needed_;
    };
    const auto votes = ballot_->wait({TimePoint::max(), session.wake_fd()}, is_enough);
    if (!is_enough(votes)) throw_too_few(failures_of(votes), majority, "listen");
    adopt();
  }
}

void Listener::adopt() {
  if (!ballot_) return;
  ballot_->look([this](auto& votes) {
    for (auto& vote : votes) {
      if (vote.answer && *vote.answer) subscribed_.push_back(std::move(*vote.answer));
    }
  });
  has_called_.resize(subscribed_.size());
}

bool Listener::overhear(const std::string& channel) {
  if (channel == overheard_ || ballot_ || !subscribed_[0]) return false;
  overheard_ = channel;
  return subscribed_[0]->overhear(channel) && !channel.empty();
}

bool Listener::sleep(TimePoint until, const std::function<void()>& tick) {
  TimePoint next_tick = after(BootClock::now(), k_tick);
  bool is_woken = false;
  while (!hears()) {
    // Only now: a message counts before a signal that comes at the same moment.
    if (is_woken) throw redis::Interrupted();
    const TimePoint now = BootClock::now();
    if (now >= until) return false;
    if (now >= next_tick) {
      tick();
      next_tick = after(now, k_tick);
    }
    TimePoint next = std::min(until, next_tick);
    if (first_call_) next = std::min(next, after(*first_call_, k_between_calls));
    is_woken = wait(next);
  }
  first_call_.reset();
  has_called_.assign(subscribed_.size(), false);
  return true;
}

bool Listener::hears_taken(TimePoint until) {
  has_called_[0] = true;
  bool is_woken = false;
  while (hears() && !is_woken && BootClock::now() < until) is_woken = wait(until);
  const bool is_free = has_called_[0];
  has_called_[0] = false;
  return !is_free;
}

bool Listener::hears() {
  adopt();
  std::size_t calls = 0;
  std::exception_ptr loss;
  for (std::size_t i = 0; i < subscribed_.size(); ++i) {
    try {
      const auto messages =
          subscribed_[i] ? subscribed_[i]->drain() : std::vector<redis::Message>();
      for (const redis::Message& message : messages) {
        const bool is_taking = tells_of_taking(message.channel, message.text);
        if (is_taking && message.text != taken_) continue;
        has_called_[i] = !is_taking;
        if (is_taking) last_taken_ = BootClock::now();
      }
    } catch (const Error&) {
      loss = std::current_exception();
      subscribed_[i].reset();
    }
    if (has_called_[i]) ++calls;
  }
  const auto left =
      std::ranges::count_if(subscribed_, [](const Subscribed& one) { return one != nullptr; });
  if (loss && static_cast<std::size_t>(left) < needed_) std::rethrow_exception(loss);
  if (calls >= needed_) return true;
  const TimePoint now = BootClock::now();
  if (calls > 0 && !first_call_) first_call_ = now;
  return first_call_ && now >= after(*first_call_, k_between_calls);
}

bool Listener::wait(TimePoint until) const {
  std::vector<pollfd> polled = {{session_.wake_fd(), POLLIN, 0}};
  for (const Subscribed& one : subscribed_) {
    if (one) polled.push_back({one->fd(), POLLIN, 0});
  }
  return poll_until(polled, until) > 0 && polled[0].revents != 0;
}

}  // namespace rlock::lock
