// What a client decides, as QuorumLock does.
#include <algorithm>

#include "explore/quorum_world.hpp"

namespace rlock::explore::quorum {
namespace {

using Phase = Client::Phase;
using Round = Job::Round;

constexpr lock::Majority k_majority{k_servers};

std::size_t count(const Client& client, Vote Member::*which, Vote vote) {
  return static_cast<std::size_t>(
      std::count_if(client.members.begin(), client.members.end(),
                    [&](const Member& member) { return member.*which == vote; }));
}

void set_round(Client& client, Round round, std::int64_t bound_ms) {
  for (auto& jobs : client.jobs) {
    for (Job& job : jobs) {
      if (job.what != What::renew || job.round != Round::open) continue;
      job.round = round;
      job.bound_ms = bound_ms;
    }
  }
}

}  // namespace

std::size_t Rules::needed() const {
  return bugs_.majority_of_half ? k_majority.servers / 2 : k_majority.needed();
}

void Rules::start_renewal(Client& client) {
  client.is_renewing = true;
  client.renewal_left_ms = k_lease_ms;
  for (std::size_t i = 0; i < k_servers; ++i) {
    client.members[i].renewed = Vote::none;
    client.jobs[i].push_back({.what = What::renew,
                              .name = client.name,
                              .round = Round::open,
                              .bound_ms = client.left_ms});
  }
}

void Rules::end_attempt(Client& client, bool is_release) {
  const bool gives_back = is_release || !bugs_.votes_kept;
  for (std::size_t i = 0; i < k_servers && gives_back; ++i) {
    const Member& member = client.members[i];
    client.jobs[i].push_back({.what = What::give_back,
                              .name = client.name,
                              .wakes = is_release,
                              .may_hold = member.may_hold,
                              .is_in_doubt = member.is_in_doubt});
  }
  set_round(client, Round::over, 0);
  client.phase = Phase::idle;
  client.name = 0;
  client.left_ms = client.renewal_left_ms = 0;
  client.is_renewing = false;
  client.members = {};
}

// As QuorumLock::attempt.
void Rules::decide(Client& client) {
  if (client.phase != Phase::asking) return;
  const std::size_t granted = count(client, &Member::vote, Vote::yes);
  const std::size_t open = count(client, &Member::vote, Vote::none);
  const std::size_t others = k_servers - open - granted;
  if (granted >= needed()) {
    if (bugs_.lease_from_answer) client.left_ms = k_lease_ms;
    if (bugs_.late_majority_believed) client.left_ms = std::max(client.left_ms, k_step_ms);
    if (client.left_ms > 0) {
      client.phase = Phase::holding;
      for (Member& member : client.members) member.vote = Vote::none;  // they have been counted
      ++counts_.grants;
      return;
    }
    ++counts_.late_majorities;  // as Wait::run: it asks again
    end_attempt(client, false);
  } else if (k_majority.is_blocked_by(others) || open == 0) {
    ++counts_.splits;
    end_attempt(client, false);
  }
}

// As QuorumLock::renew.
void Rules::decide_renewal(Client& client) {
  const std::size_t renewed = count(client, &Member::renewed, Vote::yes);
  const std::size_t lost = count(client, &Member::renewed, Vote::no);
  const std::size_t failed = count(client, &Member::renewed, Vote::failed);
  const std::int64_t before_ms = client.left_ms;
  if (renewed >= (bugs_.renewed_by_one ? 1 : needed())) {
    client.left_ms = bugs_.renewal_from_answer ? k_lease_ms : client.renewal_left_ms;
    ++counts_.renewals;
    for (std::size_t i = 0; i < k_servers; ++i) {
      Member& member = client.members[i];
      if (member.renewed != Vote::no || before_ms <= 0) continue;
      member.may_hold = true;
      client.jobs[i].push_back({.what = What::restore, .name = client.name, .bound_ms = before_ms});
    }
    set_round(client, Round::confirmed, before_ms);
  } else if (k_majority.is_blocked_by(lost)) {
    ++counts_.losses;
    return end_attempt(client, true);
  } else if (k_majority.is_blocked_by(failed) || renewed + lost + failed == k_servers) {
    set_round(client, Round::over, before_ms);
  } else {
    return;
  }
  client.is_renewing = false;
  client.renewal_left_ms = 0;
  for (Member& member : client.members) member.renewed = Vote::none;
}

}  // namespace rlock::explore::quorum
