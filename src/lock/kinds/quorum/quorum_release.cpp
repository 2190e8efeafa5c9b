#include "lock/kinds/quorum/quorum.hpp"
#include "lock/servers/ballot.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

constexpr Milliseconds k_release_bound{50};  // for servers that have not answered yet

}  // namespace

Release QuorumLock::Member::give_back(redis::Client& client, Milliseconds keep, Wake wake) {
  if (!may_hold) return Release::not_held;
  try {
    return lock->release(client, keep, wake);
  } catch (const redis::Interrupted&) {
    lock->take_back(client, keep);  // also if only a renewal is under way: see is_in_doubt
    may_hold = false;               // nothing more can be done
    throw;
  }
}

// Drops the requests that wait for a hanging server. Otherwise the release would come after all of
// them, and the end of the session would wait for them.
void QuorumLock::end_attempt() noexcept {
  for (const auto& member : members_) member->is_over = true;
}

Release QuorumLock::release(Session& session, Milliseconds keep) {
  end_attempt();
  // If another process has taken the lock, the nodes may not be connected yet. Then wait for that.
  std::optional<Ballot<bool>> connected;
  if (!is_taken_here_) {
    connected.emplace(session, [](std::size_t /*server*/, redis::Client& client) {
      client.connect();
      return true;
    });
  }
  Ballot<Release> ballot(session, [members = members_, keep](std::size_t i, redis::Client& client) {
    return members[i]->give_back(client, keep, Wake::yes);
  });
  const auto is_answered = [&](const auto& votes) {
    return count_votes(votes, [](const auto& vote) { return vote.answer.has_value(); }) >=
           majority_.needed();
  };
  ballot.wait({TimePoint::max(), session.wake_fd()}, is_answered);
  if (connected) connected->wait({TimePoint::max(), session.wake_fd()}, k_for_all);
  const auto votes =
      ballot.wait({after(BootClock::now(), k_release_bound), session.wake_fd()}, k_for_all);
  if (!is_answered(votes)) throw_too_few(failures_of(votes), majority_, Purpose::release);
  if (majority_.is_blocked_by(count_answers(votes, Release::not_held))) return Release::not_held;
  return count_answers(votes, Release::still_held) > 0 ? Release::still_held : Release::freed;
}

void QuorumLock::abandon(Session& session) noexcept {
  end_attempt();
  try {
    Ballot<Release> ballot(session, [members = members_](std::size_t i, redis::Client& client) {
      return members[i]->give_back(client, Milliseconds(0), Wake::no);
    });
    ballot.wait({after(BootClock::now(), k_release_bound)}, k_for_all);
  } catch (const std::exception&) {  // then the lock ends with its leases
  }
}

// Gives the votes of a failed attempt back, and does not wait for the answers. Wakes no waiter: the
// lock has not become free, and owners that were refused because of these votes ask again soon.
void QuorumLock::take_back(Session& session) {
  end_attempt();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    try {
      session.nodes()[i]->post([member = members_[i]](redis::Client& client) {
        try {
          member->give_back(client, Milliseconds(0), Wake::no);
        } catch (const std::exception&) {  // then the vote ends with its lease
        }
      });
    } catch (const redis::Unavailable&) {  // it has no thread, so no request was sent
    }
  }
}

}  // namespace rlock::lock
