#include "lock/inspection/snapshot_problems.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "lua_limits.hpp"

namespace rlock::lock {
namespace {

std::optional<Several> several(const std::vector<std::string>& owners) {
  if (owners.empty()) return std::nullopt;
  return Several{owners[0], owners.size()};
}

// Returns whether the value of a string is a number.
bool holds_number(const Snapshot& snapshot) {
  return !snapshot.holders.empty() &&
         snapshot.holders[0].owner.find_first_not_of("0123456789") == std::string::npos;
}

NoExpiry::Of what_lasts(const Snapshot& snapshot) {
  using Of = NoExpiry::Of;
  if (snapshot.ambiguity == Ambiguity::hash) return Of::any_hash;
  if (!snapshot.is(Shape::string)) {
    return snapshot.holders.size() > 1 ? Of::holders : Of::lock;
  }
  const bool is_number = holds_number(snapshot);
  if (snapshot.ambiguity == Ambiguity::string) return is_number ? Of::any_number : Of::any_string;
  return is_number ? Of::number : Of::string;
}

std::vector<std::string> lasting_permits(const Snapshot& snapshot) {
  std::vector<std::string> owners;
  if (!snapshot.permits) return owners;
  for (const Holder& holder : snapshot.holders) {
    if (!holder.ends_ms) owners.push_back(holder.owner);
  }
  return owners;
}

DeadHolder::Of what_is_held(const Snapshot& snapshot, const Holder& holder) {
  using Of = DeadHolder::Of;
  if (snapshot.is(Shape::string)) return Of::string;
  if (snapshot.ambiguity == Ambiguity::hash) return Of::shared;
  const bool is_shared = snapshot.kind && traits_of(*snapshot.kind).is_shared;
  return is_shared && holder.mode != Holder::Mode::write ? Of::shared : Of::lock;
}

// A renewal sets the expiry to the whole lease at least. So a lock with less left was not renewed
// since then.
std::optional<RenewalOverdue> overdue(const Snapshot& snapshot, const Holder& holder,
                                      Milliseconds left) {
  // A holder that is busy, or asks a slow server, is a little late.
  constexpr Milliseconds k_grace{1000};
  if (!holder.about.renews || !holder.lease || holder.about.kept_until_ms != 0) return std::nullopt;
  // A renewal might not have reached a replica yet.
  if (snapshot.is_stale()) return std::nullopt;
  const Milliseconds delay =
      snapshot.replication ? snapshot.replication->longest_delay() : Milliseconds(0);
  const Milliseconds period = *holder.lease / 3;
  const Milliseconds since = *holder.lease - left;
  if (since <= period + period / 3 + k_grace + delay) return std::nullopt;
  return RenewalOverdue{holder.owner, holder.about, since,
                        period,       left,         what_is_held(snapshot, holder)};
}

void find_lasting_hold(std::vector<Problem>& problems, const Snapshot& snapshot) {
  if (snapshot.is_unknown) return;
  if (snapshot.held && snapshot.ttl_ms == -1) {
    problems.push_back(NoExpiry{what_lasts(snapshot), several(lasting_permits(snapshot))});
  }
  for (const Holder& holder : snapshot.holders) {
    if (!holder.is_told) continue;
    std::optional<Milliseconds> left;
    if (holder.ends_ms) left = Milliseconds(*holder.ends_ms - snapshot.time_ms);
    if (!holder.ends_ms && snapshot.ttl_ms) left = Milliseconds(*snapshot.ttl_ms);
    if (left && *left < Milliseconds(0)) left.reset();
    if (has_ended(holder)) {
      problems.push_back(
          DeadHolder{holder.owner, holder.about.pid, left, what_is_held(snapshot, holder)});
    } else if (left) {
      if (auto late = overdue(snapshot, holder, *left)) problems.push_back(std::move(*late));
    }
  }
}

void find_wrong_kinds(std::vector<Problem>& problems, const Snapshot& snapshot,
                      const std::vector<KeyType>& types) {
  if (snapshot.is_unknown && types[0].type == "hash") {
    problems.push_back(WrongKind{types[0].key, types[0].type});
  }
  constexpr const char* k_expected[] = {"hash", "list", "zset", "hash", "string"};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto& [key, type] = types[i];
    const bool is_string_lock = i == 0 && type == "string";
    if (type == "none" || type == k_expected[i] || is_string_lock) continue;
    problems.push_back(WrongKind{key, type});
  }
}

// Returns the holders of a read/write lock that, by the side key, hold it as another kind of lock.
std::vector<std::string> no_readers(const Snapshot& snapshot) {
  std::vector<std::string> found;
  if (!snapshot.is(Shape::sides)) return found;
  for (const Holder& holder : snapshot.holders) {
    const bool is_other = holder.kind && traits_of(*holder.kind).shape != Shape::sides;
    if (is_other) found.push_back(holder.owner);
  }
  return found;
}

void find_dead_readers(std::vector<Problem>& problems, const Snapshot& snapshot) {
  if (snapshot.ambiguity != Ambiguity::none || snapshot.is_stale()) return;
  std::vector<std::string> dead = snapshot.dead_readers;
  const std::vector<std::string> others = no_readers(snapshot);
  std::erase_if(dead, [&](const std::string& reader) {
    return std::ranges::find(others, reader) != others.end();
  });
  if (const auto all = several(dead)) {
    problems.push_back(DeadReaders{*all, dead.size() + others.size() == snapshot.holders.size()});
  }
}

// Returns the owners that hold a read/write lock although another owner writes. The writer's field
// is its owner + ":write". Its other holds start with the same owner.
std::vector<std::string> not_the_writers(const Snapshot& snapshot) {
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
  if (const auto others = several(not_the_writers(snapshot))) {
    problems.push_back(MixedKinds{Mix::beside_writer, others});
  } else if (const auto no_reader = several(no_readers(snapshot))) {
    problems.push_back(MixedKinds{Mix::beside_reader, no_reader});
  }
  if (snapshot.queue.empty()) return;
  if (snapshot.is(Shape::sides)) problems.push_back(MixedKinds{Mix::read_write});
  if (snapshot.is(Shape::string)) problems.push_back(MixedKinds{Mix::string});
  const auto plain = std::ranges::find_if(snapshot.holders, [](const Holder& holder) {
    return holder.kind && traits_of(*holder.kind).shape == Shape::hash &&
           !traits_of(*holder.kind).queues;
  });
  if (plain != snapshot.holders.end()) {
    problems.push_back(MixedKinds{Mix::reentrant, Several{plain->owner}});
  }
}

void find_dead_head(std::vector<Problem>& problems, const Snapshot& snapshot, bool can_be_evicted) {
  if (snapshot.waiters.empty()) return;
  const Waiter& head = snapshot.waiters.front();
  if (head.alive != false) return;
  DeadHead dead{.owner = head.owner,
                .can_be_evicted = can_be_evicted,
                .dead = snapshot.dead_waiters(),
                .waiters = snapshot.waiters.size()};
  if (head.deadline_ms && *head.deadline_ms > snapshot.time_ms) {
    dead.left = Milliseconds(*head.deadline_ms - snapshot.time_ms);
  }
  problems.push_back(std::move(dead));
}

void find_bad_deadlines(std::vector<Problem>& problems, const Snapshot& snapshot,
                        bool can_be_evicted) {
  const std::int64_t left = std::max<std::int64_t>(snapshot.ttl_ms.value_or(0), 0);
  std::vector<std::string> scoreless;
  std::vector<std::string> far;
  // A Redisson waiter's deadline is the latest: it adds the waits of all waiters before it. A later
  // one comes from a wrong clock.
  std::int64_t most = lua::k_far.count();
  for (const Waiter& waiter : snapshot.waiters) {
    most += lua::k_peer_wait.count();
    if (!waiter.deadline_ms) {
      scoreless.push_back(waiter.owner);
    } else if (*waiter.deadline_ms - snapshot.time_ms - left > most) {
      far.push_back(waiter.owner);
    }
  }
  if (const auto all = several(scoreless)) problems.push_back(MembersWithoutScore{*all});
  if (const auto all = several(find_orphans(snapshot)))
    problems.push_back(ScoresWithoutMember{*all});
  if (const auto all = several(far); all && can_be_evicted) {
    problems.push_back(DeadlinesFarAhead{*all});
  }
}

// Returns whether evict works for this name, as other_kind() in lua/include/kind.lua. `type`: the
// type of the lock's key.
bool is_for_waiters(const Snapshot& snapshot, const std::string& type) {
  if (type != "hash") return type == "none";
  return std::ranges::find(snapshot.hash, "mode", &std::pair<std::string, std::string>::first) ==
         snapshot.hash.end();
}

void find_token_problems(std::vector<Problem>& problems, const Snapshot& snapshot,
                         const KeyType& counter, std::int64_t ttl_ms) {
  if (counter.type == "string" && !snapshot.token) {
    problems.push_back(BadToken{counter.key});
    return;
  }
  if (counter.type != "string" && counter.type != "none") return;
  if (snapshot.token.value_or(0) > lua::k_highest_token) {
    problems.push_back(TokenTooHigh{*snapshot.token});
  }
  if (ttl_ms >= 0) problems.push_back(TokenExpires{counter.key, Milliseconds(ttl_ms)});
  const std::int64_t highest = snapshot.token.value_or(0);
  for (const Holder& holder : snapshot.holders) {
    if (!holder.token || *holder.token <= highest) continue;
    problems.push_back(TokenBehind{highest, holder.owner, *holder.token});
  }
}

void find_permit_problems(std::vector<Problem>& problems, const Snapshot& snapshot) {
  constexpr std::int64_t k_longest_unnoticed_ms = 60'000;
  if (!snapshot.permits) return;
  const Snapshot::Permits& permits = *snapshot.permits;
  if (permits.ended > 0 && !snapshot.is_stale()) {
    const auto ago = snapshot.time_ms - static_cast<std::int64_t>(permits.ends.front().second);
    if (ago > k_longest_unnoticed_ms) {
      problems.push_back(EndedPermits{static_cast<std::size_t>(permits.ended), Milliseconds(ago)});
    }
  }
  if (permits.made_with && *permits.made_with != permits.total) {
    problems.push_back(PermitsDiffer{permits.total, *permits.made_with});
  }
}

}  // namespace

std::vector<Problem> find_problems(const Snapshot& snapshot, const std::vector<KeyType>& types,
                                   std::int64_t token_ttl_ms) {
  std::vector<Problem> problems;
  const bool can_be_evicted = is_for_waiters(snapshot, types[0].type);
  find_lasting_hold(problems, snapshot);
  find_wrong_kinds(problems, snapshot, types);
  find_mixed_kinds(problems, snapshot);
  find_dead_head(problems, snapshot, can_be_evicted);
  find_dead_readers(problems, snapshot);
  if (types[2].type == "zset" || types[2].type == "none") {
    find_bad_deadlines(problems, snapshot, can_be_evicted);
  }
  find_token_problems(problems, snapshot, types[4], token_ttl_ms);
  find_permit_problems(problems, snapshot);
  return problems;
}

std::optional<LoneNumber> find_lone_number(const Snapshot& snapshot) {
  const Milliseconds left(snapshot.ttl_ms.value_or(0));
  const bool is_alone = snapshot.ambiguity == Ambiguity::string && holds_number(snapshot);
  if (!is_alone || left <= lua::k_far) return std::nullopt;
  return LoneNumber{left};
}

std::vector<std::string> find_orphans(const Snapshot& snapshot) {
  // A sound queue can be long, so check for it first.
  constexpr auto k_member = &std::pair<std::string, double>::first;
  if (std::ranges::equal(snapshot.scores, snapshot.queue, {}, k_member)) return {};
  const std::unordered_set<std::string_view> queue(snapshot.queue.begin(), snapshot.queue.end());
  std::vector<std::string> found;
  for (const auto& [member, score] : snapshot.scores) {
    if (!queue.contains(member)) found.push_back(member);
  }
  return found;
}

}  // namespace rlock::lock
