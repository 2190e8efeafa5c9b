#include <algorithm>
#include <mutex>
#include <utility>

#include "lock/kinds/quorum/quorum.hpp"
#include "lock/servers/ballot.hpp"
#include "lock/servers/fencing.hpp"

namespace rlock::lock {
namespace {

using Votes = Ballot<Renewal>::Votes;

constexpr Milliseconds k_longest_quorum_interval{10'000};
// Another attempt without a majority gives its votes back within milliseconds.
constexpr Milliseconds k_first_interval{100};
constexpr int k_most_doublings = 10;

bool is_decided(const Votes& votes, Majority majority) {
  return count_answers(votes, Renewal::renewed) >= majority.needed() ||
         majority.is_blocked_by(count_answers(votes, Renewal::lost)) ||
         majority.is_blocked_by(failures_of(votes).size());
}

// Returns the answer of the majority. Throws if there is none.
Renewal decide(const Votes& votes, Majority majority, Purpose purpose) {
  if (count_answers(votes, Renewal::renewed) >= majority.needed()) return Renewal::renewed;
  if (majority.is_blocked_by(count_answers(votes, Renewal::lost))) return Renewal::lost;
  const auto silent = count_votes(votes, [](const auto& vote) { return !vote.is_in(); });
  throw_too_few(failures_of(votes), majority, purpose, silent);
}

// The servers that must get the lock again: those that say they have lost it, at any time, once a
// majority has confirmed the lock.
class Healing {
 public:
  // Notes that a server has lost the lock. Returns whether to restore the lock there now.
  bool add(std::size_t server) {
    const std::lock_guard guard(mutex_);
    if (!is_confirmed_) lost_.push_back(server);
    return is_confirmed_;
  }
  // Notes that a majority has confirmed the lock. Returns the servers that have lost it so far.
  std::vector<std::size_t> confirm() {
    const std::lock_guard guard(mutex_);
    is_confirmed_ = true;
    return std::exchange(lost_, {});
  }

 private:
  std::mutex mutex_;
  bool is_confirmed_ = false;
  std::vector<std::size_t> lost_;
};

}  // namespace

void QuorumLock::Member::restore(redis::Client& client, TimePoint until,
                                 std::optional<std::int64_t> token) noexcept {
  // As long as the lease lasts, no other owner can have a majority. So this vote is missing to
  // nobody.
  if (BootClock::now() >= until) return;
  may_hold = true;
  try {
    const bool is_granted = std::holds_alternative<Hold>(lock->restore(client));
    if (is_granted) without = 0;
    if (token && is_granted) {
      static_cast<void>(lock::raise_token(client, lock->name(), lock->owner(), *token));
    }
  } catch (const std::exception&) {  // the next renewal tries again
  }
}

Renewal QuorumLock::Member::renew(redis::Client& client, TimePoint bound) {
  may_hold = true;  // a server that has another hold of the owner now counts this one, too
  const Renewal answer = lock->renew(client, &bound);
  if (answer == Renewal::renewed) {
    without = 0;
  } else if (without == 0) {
    without = 1;
  }
  return answer;
}

Milliseconds QuorumLock::renewal_interval() const noexcept {
  Milliseconds interval = std::min(lease() / 3, k_longest_quorum_interval);
  for (const auto& member : members_) {
    const int without = member->without;
    if (without == 0) continue;
    interval =
        std::min(interval, k_first_interval * (1 << std::min(without - 1, k_most_doublings)));
  }
  return interval;
}

Renewal QuorumLock::renew(Session& session, TimePoint* deadline) const {
  const TimePoint asked = BootClock::now();
  const TimePoint bound = deadline == nullptr ? TimePoint::max() : *deadline;
  const auto healing = std::make_shared<Healing>();
  for (const auto& member : members_) {
    if (member->without > 0) ++member->without;
  }
  // A run that renews more than once has looked for twins when it took the lock.
  const auto runs =
      deadline == nullptr && session.has_look_alikes() ? session.absentees() : nullptr;
  Ballot<Renewal> ballot(session, [members = members_, bound, healing, token = token_, runs](
                                      std::size_t i, redis::Client& client) {
    if (runs) runs->ask_run(i, client);
    const Renewal answer = members[i]->renew(client, bound);
    if (answer == Renewal::lost && healing->add(i)) members[i]->restore(client, bound, token);
    return answer;
  });
  const Votes votes = ballot.wait({bound, session.wake_fd()}, [&](const Votes& so_far) {
    return is_decided(so_far, majority_);
  });
  if (deadline == nullptr) session.refuse_twins();
  const Renewal answer = decide(votes, majority_, Purpose::renew);
  if (answer == Renewal::lost || deadline == nullptr) return answer;
  *deadline = lease_deadline(asked, lease());
  for (const std::size_t i : healing->confirm()) {
    // post() cannot throw: this node's thread runs, because it has reported the loss.
    session.nodes()[i]->post([member = members_[i], bound, token = token_](redis::Client& client) {
      member->restore(client, bound, token);
    });
  }
  return answer;
}

Renewal QuorumLock::ask(Session& session) const {
  Ballot<Renewal> ballot(session, [members = members_](std::size_t i, redis::Client& client) {
    return members[i]->lock->ask(client);
  });
  const Votes votes = ballot.wait({TimePoint::max(), session.wake_fd()}, [&](const Votes& so_far) {
    return is_decided(so_far, majority_);
  });
  return decide(votes, majority_, Purpose::ask_for_lock);
}

void QuorumLock::go_on_with(const Hold& hold) {
  is_fresh_ = false;
  token_ = hold.token;
  for (const auto& member : members_) member->lock->go_on_with(hold);
}

bool QuorumLock::has_ended(Session& session) const {
  Ballot<bool> ballot(session, [members = members_](std::size_t i, redis::Client& client) {
    return members[i]->lock->has_ended(client);
  });
  const auto votes = ballot.wait({TimePoint::max(), session.wake_fd()}, [&](const auto& so_far) {
    return count_answers(so_far, true) >= majority_.needed() ||
           majority_.is_blocked_by(count_answers(so_far, false));
  });
  if (count_answers(votes, true) >= majority_.needed()) return true;
  if (majority_.is_blocked_by(count_answers(votes, false))) return false;
  throw_too_few(failures_of(votes), majority_, Purpose::ask_for_hold);
}

}  // namespace rlock::lock
