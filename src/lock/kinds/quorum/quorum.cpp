#include "lock/kinds/quorum/quorum.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "lock/servers/ballot.hpp"
#include "lock/servers/fencing.hpp"
#include "lock/words/refused.hpp"
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
    take_back(session);
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
      session,
      [members = members_, absentees = session.absentees()](std::size_t i, redis::Client& client) {
        auto answer = members[i]->take(client);
        const Hold* grant = std::get_if<Hold>(&answer);
        if (grant != nullptr) absentees->note_run(i, grant->server);
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
        return has_majority(so_far) ? !session.has_look_alikes() : failures_of(so_far).empty();
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
  if (session.absentees()->twins()) {
    take_back(session);
    session.refuse_twins();
  }
  token_ = taken.token;
  if (granted >= majority_.needed()) {
    if (taken.token) raise_token(session, *taken.token, taken.deadline);
    return taken;
  }
  take_back(session);
  if (refusals.empty() || majority_.is_blocked_by(failures.size())) {
    throw_too_few(failures, majority_, Purpose::take);
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
  take_back(session);
  const auto failures = failures_of(votes);
  if (!failures.empty()) throw_too_few(failures, majority_, Purpose::raise_token);
  throw Failed(name(), LateToken{majority_.servers, majority_.needed()});
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
  take_back(session);
  if (in >= majority_.needed()) throw Refused(name(), NoOuterToken{});
  if (majority_.is_blocked_by(count_votes(votes, is_out))) return std::nullopt;
  throw_too_few(failures_of(votes), majority_, Purpose::reenter);
}

}  // namespace rlock::lock
