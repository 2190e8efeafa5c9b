// A question to several servers at once. The answers arrive one by one.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "lock/servers/session.hpp"
#include "redis/server_error.hpp"
#include "redis/socket.hpp"

namespace rlock::lock {

// The outcome of asking one server: an answer, a failure, or neither yet.
template <typename Answer>
struct Vote {
  std::optional<Answer> answer{};
  std::exception_ptr failure{};

  [[nodiscard]] bool is_in() const { return answer || failure; }
};

template <typename Votes, typename Matches>
[[nodiscard]] std::size_t count_votes(const Votes& votes, Matches matches) {
  return static_cast<std::size_t>(std::ranges::count_if(votes, matches));
}

template <typename Answer>
[[nodiscard]] std::size_t count_answers(const std::vector<Vote<Answer>>& votes, Answer answer) {
  return count_votes(votes, [&](const auto& vote) { return vote.answer == answer; });
}

template <typename Answer>
[[nodiscard]] std::vector<std::exception_ptr> failures_of(const std::vector<Vote<Answer>>& votes) {
  std::vector<std::exception_ptr> failures;
  for (const auto& vote : votes) {
    if (vote.failure) failures.push_back(vote.failure);
  }
  return failures;
}

// For Ballot::wait: waits for all votes.
inline constexpr auto k_for_all = [](const auto& /*votes*/) { return false; };

template <typename Answer>
class Ballot {
 public:
  using Votes = std::vector<Vote<Answer>>;

  // Asks every server of the session. `ask` gets the server's index and client. It runs in that
  // server's thread, and may run until the session ends.
  Ballot(Session& session, std::function<Answer(std::size_t, redis::Client&)> ask) {
    state_->votes.resize(session.nodes().size());
    for (std::size_t i = 0; i < session.nodes().size(); ++i) {
      try {
        session.nodes()[i]->post(
            [state = state_, unreachable = session.unreachable(), ask, i](redis::Client& client) {
              Vote<Answer> vote;
              try {
                vote.answer.emplace(ask(i, client));
              } catch (...) {
                vote.failure = unreachable->note_failure(i);
              }
              state->put(i, std::move(vote));
            });
      } catch (const redis::Unavailable&) {  // its thread cannot be started
        state_->put(i, {{}, session.unreachable()->note_failure(i)});
      }
    }
  }

  // Waits until `is_decided` returns true for the votes, all votes are in, or the deadline has
  // passed. Returns the votes at that moment. Throws redis::Interrupted.
  template <typename IsDecided>
  Votes wait(const redis::Deadline& deadline, IsDecided is_decided) {
    while (true) {
      {
        const std::lock_guard guard(state_->mutex);
        state_->changed.clear();
        if (std::ranges::all_of(state_->votes, &Vote<Answer>::is_in) ||
            is_decided(std::as_const(state_->votes)) || BootClock::now() >= deadline.when) {
          return state_->votes;
        }
      }
      static_cast<void>(redis::wait_for(state_->changed.fd(), POLLIN, deadline));
    }
  }

  // Calls `use` with the votes so far. `use` may move answers out of them.
  template <typename Use>
  void look(Use use) {
    const std::lock_guard guard(state_->mutex);
    use(state_->votes);
  }

 private:
  struct State {
    std::mutex mutex;  // guards the votes
    Votes votes;
    Event changed;

    void put(std::size_t i, Vote<Answer> vote) {
      const std::lock_guard guard(mutex);
      votes[i] = std::move(vote);
      changed.raise();
    }
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace rlock::lock
