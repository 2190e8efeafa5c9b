#include "lock/inspection/snapshot_problems.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "base/process_identity.hpp"
#include "lua_limits.hpp"

namespace rlock::lock {
namespace {

// No waiter's deadline is later than those of Redisson's own waiters, by so much for each place,
// unless a clock was wrong.
constexpr std::int64_t k_redisson_wait_ms = lua::k_peer_wait.count();
constexpr std::int64_t k_far_ms = lua::k_far.count();

std::optional<Several> several(const std::vector<std::string>& owners) {
  if (owners.empty()) return std::nullopt;
  return Several{owners[0], owners.size()};
}

std::vector<std::string> waiters_that(
    const Snapshot& snapshot, const std::function<bool(const Waiter&, std::int64_t)>& condition) {
  std::vector<std::string> found;
  std::int64_t place = 0;
  for (const Waiter& waiter : snapshot.waiters) {
    if (condition(waiter, ++place)) found.push_back(waiter.owner);
  }
  return found;
}

std::vector<std::string> orphans(const Snapshot& snapshot) {
  const auto is_at = [](const auto& score, const std::string& member) {
    return score.first == member;
  };
  // A queue in order, which can be long, is looked through at once.
  if (std::equal(snapshot.scores.begin(), snapshot.scores.end(), snapshot.queue.begin(),
                 snapshot.queue.end(), is_at)) {
    return {};
  }
  const std::unordered_set<std::string_view> queue(snapshot.queue.begin(), snapshot.queue.end());
  std::vector<std::string> found;
  for (const auto& [member, score] : snapshot.scores) {
    if (!queue.contains(member)) found.push_back(member);
  }
  return found;
}

NoExpiry::Of what_lasts(const Snapshot& snapshot) {
  using Of = NoExpiry::Of;
  if (snapshot.kind != Snapshot::Kind::simple) return Of::lock;
  const bool is_number = !snapshot.holders.empty() && snapshot.holders[0].owner.find_first_not_of(
                                                          "0123456789") == std::string::npos;
  if (snapshot.is_any_string) return is_number ? Of::any_number : Of::any_string;
  return is_number ? Of::number : Of::string;
}

void find_lasting_hold(std::vector<Problem>& problems, const Snapshot& snapshot) {
  if (snapshot.kind == Snapshot::Kind::unknown) return;
  if (snapshot.held && snapshot.ttl_ms == -1) problems.push_back(NoExpiry{what_lasts(snapshot)});
  using Of = DeadHolder::Of;
  const Of of = snapshot.kind == Snapshot::Kind::simple ? Of::string : Of::lock;
  for (const Holder& holder : snapshot.holders) {
    if (!holder.about || is_running(holder.about->pid, holder.about->process) != false) continue;
    const std::int64_t left =
        holder.ends_ms ? *holder.ends_ms - snapshot.time_ms : snapshot.ttl_ms.value_or(-1);
    DeadHolder dead{holder.owner, holder.about->pid, std::nullopt, of};
    if (left >= 0) dead.left = Milliseconds(left);
    problems.push_back(std::move(dead));
  }
}

void find_wrong_kinds(std::vector<Problem>& problems, const Snapshot& snapshot,
                      const std::vector<KeyType>& types) {
  if (snapshot.kind == Snapshot::Kind::unknown && types[0].type == "hash") {
    problems.push_back(WrongKind{types[0].key, types[0].type});
  }
  const std::vector<std::string> expected[] = {{"hash", "string", "none"},
                                               {"list", "none"},
                                               {"zset", "none"},
                                               {"hash", "none"},
                                               {"string", "none"}};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto& allowed = expected[i];
    if (std::ranges::find(allowed, types[i].type) != allowed.end()) continue;
    problems.push_back(WrongKind{types[i].key, types[i].type});
  }
}

// Returns who holds a read/write lock although another owner writes. The writer's own holds start
// with what precedes ":write" in its field.
std::vector<std::string> strangers(const Snapshot& snapshot) {
  const std::pair<std::string, std::string> writing("mode", "write");
  const auto writer = std::ranges::find(snapshot.holders, Holder::Mode::write, &Holder::mode);
  std::vector<std::string> found;
  if (writer == snapshot.holders.end() ||
      std::ranges::find(snapshot.hash, writing) == snapshot.hash.end()) {
    return found;
  }
  const std::string own = writer->owner.substr(0, writer->owner.rfind(':'));
  for (const Holder& holder : snapshot.holders) {
    const std::string& owner = holder.owner;
    if (owner != own && !owner.starts_with(own + ":")) found.push_back(owner);
  }
  return found;
}

void find_mixed_kinds(std::vector<Problem>& problems, const Snapshot& snapshot) {
  using Mix = MixedKinds::Mix;
  if (const auto others = several(strangers(snapshot))) {
    problems.push_back(MixedKinds{Mix::beside_writer, others});
  }
  if (snapshot.queue.empty()) return;
  if (snapshot.kind == Snapshot::Kind::read_write) problems.push_back(MixedKinds{Mix::read_write});
  if (snapshot.kind == Snapshot::Kind::simple) problems.push_back(MixedKinds{Mix::string});
  for (const Holder& holder : snapshot.holders) {
    if (holder.kind != Kind::reentrant) continue;
    problems.push_back(MixedKinds{Mix::reentrant, Several{holder.owner, 1}});
    return;
  }
}

void find_dead_head(std::vector<Problem>& problems, const Snapshot& snapshot) {
  if (snapshot.waiters.empty()) return;
  const Waiter& head = snapshot.waiters.front();
  if (head.alive != false) return;
  DeadHead dead{head.owner};
  if (head.deadline_ms && *head.deadline_ms > snapshot.time_ms) {
    dead.left = Milliseconds(*head.deadline_ms - snapshot.time_ms);
  }
  problems.push_back(std::move(dead));
}

}  // namespace

std::vector<Problem> find_problems(const Snapshot& snapshot, const std::vector<KeyType>& types) {
  std::vector<Problem> problems;
  find_lasting_hold(problems, snapshot);
  find_wrong_kinds(problems, snapshot, types);
  find_mixed_kinds(problems, snapshot);
  find_dead_head(problems, snapshot);
  if (const auto dead = several(snapshot.dead_readers)) problems.push_back(DeadReaders{*dead});
  const auto scoreless = waiters_that(
      snapshot, [](const Waiter& waiter, std::int64_t) { return !waiter.deadline_ms; });
  if (const auto all = several(scoreless)) problems.push_back(MembersWithoutScore{*all});
  if (const auto all = several(orphans(snapshot))) problems.push_back(ScoresWithoutMember{*all});
  const std::int64_t left = std::max<std::int64_t>(snapshot.ttl_ms.value_or(0), 0);
  const auto far = waiters_that(snapshot, [&](const Waiter& waiter, std::int64_t place) {
    return waiter.deadline_ms &&
           *waiter.deadline_ms - snapshot.time_ms - left > place * k_redisson_wait_ms + k_far_ms;
  });
  if (const auto all = several(far)) problems.push_back(DeadlinesFarAhead{*all});
  return problems;
}

void find_token_problems(Snapshot& snapshot, const std::string& key,
                         const std::optional<std::string>& value, std::int64_t ttl_ms) {
  constexpr std::int64_t k_no_key = -2;
  if (!value && ttl_ms != k_no_key) return;  // a key of the wrong kind
  if (value && !snapshot.token) {
    snapshot.problems.push_back(BadToken{key});
    return;
  }
  if (ttl_ms >= 0) snapshot.problems.push_back(TokenExpires{key, Milliseconds(ttl_ms)});
  const std::int64_t highest = snapshot.token.value_or(0);
  for (const Holder& holder : snapshot.holders) {
    if (!holder.token || *holder.token <= highest) continue;
    snapshot.problems.push_back(TokenBehind{highest, holder.owner, *holder.token});
  }
}

}  // namespace rlock::lock
