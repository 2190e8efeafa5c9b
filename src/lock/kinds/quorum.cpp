#include "lock/kinds/quorum.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/escape.hpp"
#include "base/random.hpp"
#include "lock/servers/ballot.hpp"
#include "lock/servers/fencing.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

constexpr int k_attempts = 4;  // in one request, if several owners share the votes
constexpr std::uint32_t k_first_pause_ms = 50;
constexpr int k_longest_doubling = 6;
// How long to wait for the other votes, which may reveal twins, or the holder.
constexpr Milliseconds k_late_vote_bound{100};

// Returns the time before the next attempt. It grows with the number of failed attempts.
Milliseconds back_off(int splits) {
  return Milliseconds(k_first_pause_ms / 2 +
                      random_below(k_first_pause_ms << std::min(splits, k_longest_doubling)));
}

}  // namespace

QuorumLock::QuorumLock(std::size_t servers, Make make, const std::string& owner, Fencing fencing)
    : majority_{servers},
      make_(std::move(make)),
      fencing_(fencing),
      members_(make_members(owner)) {}

QuorumLock::Members QuorumLock::make_members(const std::string& owner) const {
  Members members;
  for (std::size_t i = 0; i < majority_.servers; ++i) {
    members.push_back(std::make_shared<Member>());
    members.back()->lock = make_(owner);
    members.back()->lock->set_hold_id(members.front()->lock->hold_id());
  }
  return members;
}

int QuorumLock::marks() const noexcept {
  int marks = 0;
  for (const auto& member : members_) marks |= member->lock->marks();
  return marks;
}

Hold QuorumLock::hold(TimePoint asked, Hold::Standing standing) const {
  return {.owner = owner(),
          .id = front().hold_id(),
          .standing = standing,
          .side = traits_of(kind()).side,
          .lease = lease(),
          .deadline = lease_deadline(asked, lease())};
}

std::variant<Hold, Busy> QuorumLock::try_acquire(Session& session, Join /*join*/) {
  for (int tried = 1;; ++tried) {
    auto answer = attempt(session);
    if (const Hold* hold = std::get_if<Hold>(&answer)) return *hold;
    auto& [busy, is_split] = std::get<Refusal>(answer);
    splits_ = is_split ? splits_ + 1 : 0;
    if (!is_split) return std::move(busy);
    if (tried == k_attempts) {
      busy.ask_after = back_off(splits_);
      return std::move(busy);
    }
    redis::pause({after(BootClock::now(), back_off(tried)), session.wake_fd()});
  }
}

std::variant<Hold, Busy> QuorumLock::Member::take(redis::Client& client) {
  if (is_over) throw redis::Interrupted();
  may_hold = true;
  try {
    auto answer = lock->try_acquire(client, Join::no);
    const bool is_granted = std::holds_alternative<Hold>(answer);
    may_hold = is_granted || lock->is_in_doubt();
    if (is_granted) without = 0;
    return answer;
  } catch (...) {
    may_hold = lock->is_in_doubt();
    throw;
  }
}

std::variant<Hold, Refusal> QuorumLock::attempt(Session& session) {
  if (!is_fresh_) {
    abandon_votes(session);
    members_ = make_members(with_fresh_uuid(owner()));
  }
  is_fresh_ = false;
  is_taken_here_ = true;
  for (const auto& member : members_) {
    member->may_hold = false;
    member->without = 1;
  }
  const TimePoint asked = BootClock::now();
  Ballot<std::variant<Hold, Busy>> ballot(
      session, [members = members_, unreachable = session.unreachable()](std::size_t i,
                                                                         redis::Client& client) {
        auto answer = members[i]->take(client);
        const Hold* grant = std::get_if<Hold>(&answer);
        if (grant != nullptr) unreachable->note_run(i, grant->server);
        return answer;
      });
  const auto is_granted = [](const auto& vote) {
    return vote.answer && std::holds_alternative<Hold>(*vote.answer);
  };
  const auto has_majority = [&](const auto& votes) {
    return count_votes(votes, is_granted) >= majority_.needed();
  };
  ballot.wait({TimePoint::max(), session.wake_fd()}, [&](const auto& votes) {
    const std::size_t others =
        count_votes(votes, [&](const auto& vote) { return vote.is_in() && !is_granted(vote); });
    return has_majority(votes) || majority_.is_blocked_by(others);
  });
  const auto votes = ballot.wait(
      {after(BootClock::now(), k_late_vote_bound), session.wake_fd()}, [&](const auto& so_far) {
        return has_majority(so_far) ? !session.may_have_duplicates() : failures_of(so_far).empty();
      });
  const auto failures = failures_of(votes);
  const std::size_t granted = count_votes(votes, is_granted);
  Hold taken = hold(asked, Hold::Standing::granted);
  std::vector<Busy> refusals;
  for (const auto& vote : votes) {
    if (is_granted(vote)) {
      taken.token = std::max(taken.token, std::get<Hold>(*vote.answer).token);
    } else if (vote.answer) {
      refusals.push_back(std::get<Busy>(*vote.answer));
    }
  }
  if (session.unreachable()->twins()) {
    abandon_votes(session);
    session.refuse_twins();
  }
  token_ = taken.token;
  if (granted >= majority_.needed()) {
    if (taken.token) raise_token(session, *taken.token, taken.deadline);
    return taken;
  }
  abandon_votes(session);
  if (refusals.empty() || majority_.is_blocked_by(failures.size())) {
    throw_too_few(failures, majority_, "take the lock");
  }
  return add_up(std::move(refusals), granted, failures, majority_);
}

// Raises the counter to the token on a majority of servers that granted the lock. Every later
// majority shares a server with this one, so every later grant draws a higher token. If this does
// not succeed before `deadline`, takes the votes back, and throws.
void QuorumLock::raise_token(Session& session, std::int64_t token, TimePoint deadline) {
  Ballot<bool> ballot(session, [members = members_, token](std::size_t i, redis::Client& client) {
    const SingleServerLock& lock = *members[i]->lock;
    return members[i]->may_hold && lock::raise_token(client, lock.name(), lock.owner(), token);
  });
  const auto is_raised = [&](const auto& votes) {
    return count_answers(votes, true) >= majority_.needed();
  };
  const auto votes = ballot.wait({deadline, session.wake_fd()}, is_raised);
  if (is_raised(votes)) return;
  abandon_votes(session);
  const auto failures = failures_of(votes);
  if (!failures.empty()) throw_too_few(failures, majority_, "make the fencing token known");
  throw redis::Unavailable(escape_for_terminal(name()) +
                           ": too late: the lease ended, or the lock was deleted, before " +
                           std::to_string(majority_.needed()) + " of the " +
                           std::to_string(majority_.servers) + " servers knew its fencing token");
}

std::optional<Hold> QuorumLock::reenter(Session& session) {
  is_fresh_ = false;
  is_taken_here_ = true;
  const TimePoint asked = BootClock::now();
  Ballot<std::optional<Hold>> ballot(session,
                                     [members = members_](std::size_t i, redis::Client& client) {
                                       Member& member = *members[i];
                                       auto hold = member.lock->reenter(client);
                                       member.may_hold = hold || member.lock->is_in_doubt();
                                       if (hold) member.without = 0;
                                       return hold;
                                     });
  const auto is_in = [](const auto& vote) { return vote.answer && *vote.answer; };
  const auto is_out = [](const auto& vote) { return vote.answer && !*vote.answer; };
  Hold entered = hold(asked, Hold::Standing::reentered);
  const auto votes = ballot.wait({TimePoint::max(), session.wake_fd()}, [&](const auto& so_far) {
    return count_votes(so_far, is_in) >= majority_.needed() ||
           majority_.is_blocked_by(count_votes(so_far, is_out));
  });
  for (const auto& vote : votes) {
    if (!is_in(vote)) continue;
    const Hold& one = **vote.answer;
    entered.count = std::max(entered.count, one.count);
    if (one.token) token_ = entered.token = one.token;
    if (one.standing == Hold::Standing::nested) entered.standing = one.standing;
  }
  const std::size_t in = count_votes(votes, is_in);
  if (in >= majority_.needed() && (fencing_ == Fencing::off || token_)) return entered;
  abandon_votes(session);
  if (in >= majority_.needed()) {
    throw Error(ExitStatus::usage,
                escape_for_terminal(name()) +
                    ": the outer run has no valid fencing token (it drew none, or there is a "
                    "higher one), and several servers cannot draw one for a nested run: give "
                    "--fence to the outer run, too");
  }
  if (majority_.is_blocked_by(count_votes(votes, is_out))) return std::nullopt;
  throw_too_few(failures_of(votes), majority_, "re-enter the lock");
}

// Renewals.

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
Renewal decide(const Votes& votes, Majority majority, const char* purpose) {
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
  // As long as the lease lasts, no other owner can have a majority, and needs no vote.
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
      deadline == nullptr && session.may_have_duplicates() ? session.unreachable() : nullptr;
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
  const Renewal answer = decide(votes, majority_, "renew the lock");
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
  return decide(votes, majority_, "ask for the lock");
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
  throw_too_few(failures_of(votes), majority_, "ask for the hold");
}

// Releases.

namespace {

constexpr Milliseconds k_release_bound{50};  // for servers that have not answered yet

}  // namespace

Release QuorumLock::Member::release(redis::Client& client, Milliseconds keep, Wake wake) {
  if (!may_hold) return Release::not_held;
  try {
    return lock->release(client, keep, wake);
  } catch (const redis::Interrupted&) {
    lock->send_release(client, keep);  // also if only a renewal is under way: see is_in_doubt
    may_hold = false;                  // nothing more can be done
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
  // If another process has taken the lock, the nodes are perhaps not connected yet. Then wait for
  // that.
  std::optional<Ballot<bool>> connected;
  if (!is_taken_here_) {
    connected.emplace(session, [](std::size_t /*server*/, redis::Client& client) {
      client.connect();
      return true;
    });
  }
  Ballot<Release> ballot(session, [members = members_, keep](std::size_t i, redis::Client& client) {
    return members[i]->release(client, keep, Wake::yes);
  });
  const auto is_answered = [&](const auto& votes) {
    return count_votes(votes, [](const auto& vote) { return vote.answer.has_value(); }) >=
           majority_.needed();
  };
  ballot.wait({TimePoint::max(), session.wake_fd()}, is_answered);
  if (connected) connected->wait({TimePoint::max(), session.wake_fd()}, k_for_all);
  const auto votes =
      ballot.wait({after(BootClock::now(), k_release_bound), session.wake_fd()}, k_for_all);
  if (!is_answered(votes)) throw_too_few(failures_of(votes), majority_, "release the lock");
  if (majority_.is_blocked_by(count_answers(votes, Release::not_held))) return Release::not_held;
  return count_answers(votes, Release::still_held) > 0 ? Release::still_held : Release::freed;
}

void QuorumLock::abandon(Session& session) noexcept {
  end_attempt();
  try {
    Ballot<Release> ballot(session, [members = members_](std::size_t i, redis::Client& client) {
      return members[i]->release(client, Milliseconds(0), Wake::no);
    });
    ballot.wait({after(BootClock::now(), k_release_bound)}, k_for_all);
  } catch (const std::exception&) {  // then the lock ends with its leases
  }
}

// Gives the votes of a failed attempt back, and does not wait for the answers. Wakes no waiter: the
// lock has not become free, and owners that were refused because of these votes ask again soon.
void QuorumLock::abandon_votes(Session& session) {
  end_attempt();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    try {
      session.nodes()[i]->post([member = members_[i]](redis::Client& client) {
        try {
          member->release(client, Milliseconds(0), Wake::no);
        } catch (const std::exception&) {  // then the vote ends with its lease
        }
      });
    } catch (const redis::Unavailable&) {  // it has no thread, so no request was sent
    }
  }
}

}  // namespace rlock::lock
