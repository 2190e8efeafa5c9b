#include "lock/inspection/snapshot_problems.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "base/duration.hpp"
#include "base/process_identity.hpp"
#include "base/shell_quote.hpp"
#include "base/wording.hpp"
#include "lua_limits.hpp"

namespace rlock::lock {
namespace {

// No waiter's deadline is later than those of Redisson's own waiters, by so much for each place,
// unless a clock was wrong.
constexpr std::int64_t k_redisson_wait_ms = lua::k_peer_wait.count();
constexpr std::int64_t k_far_ms = lua::k_far.count();

// Returns "rlock COMMAND NAME" for the lock of `snapshot`.
std::string rlock(const std::string& command, const Snapshot& snapshot) {
  return "rlock " + command + " " + shell_operands({snapshot.name});
}

std::string evict(const Snapshot& snapshot, const std::string& owner) {
  return "rlock evict " + shell_operands({snapshot.name, owner});
}

std::string span(std::int64_t ms) { return format_duration(Milliseconds(ms)); }

// Returns "OWNER" or "OWNER and N more", or nothing for none.
std::optional<std::string> name_all(const std::vector<std::string>& owners) {
  if (owners.empty()) return std::nullopt;
  return first_of(owners[0], owners.size());
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

void find_lasting_hold(std::vector<Problem>& problems, const Snapshot& snapshot) {
  if (snapshot.kind == Snapshot::Kind::unknown) return;
  const bool is_string = snapshot.kind == Snapshot::Kind::simple;
  const std::string force = is_string ? "unlock --force --kind simple" : "unlock --force";
  if (snapshot.held && snapshot.ttl_ms == -1) {
    const bool is_number =
        is_string && !snapshot.holders.empty() &&
        snapshot.holders[0].owner.find_first_not_of("0123456789") == std::string::npos;
    const bool is_any = snapshot.is_any_string;
    problems.push_back(
        {"no_expiry",
         std::string(is_any ? "a string; if it is a lock, it" : "the lock") +
             " has no expiry and will never end by itself" +
             (is_number ? ", unless it is a semaphore of a service's" : ""),
         is_any ? "see what wrote it; only if it is a lock whose holder is gone: unlock --force "
                  "--kind simple"
                : rlock(force, snapshot) + "  # if its holder is gone"});
  }
  for (const Holder& holder : snapshot.holders) {
    if (!holder.about || is_running(holder.about->pid, holder.about->process) != false) continue;
    const std::int64_t left =
        holder.ends_ms ? *holder.ends_ms - snapshot.time_ms : snapshot.ttl_ms.value_or(-1);
    problems.push_back({"dead_holder",
                        "the holder " + holder.owner + ", process " +
                            std::to_string(holder.about->pid) +
                            " of this host, is dead; its command may run on until the lock ends" +
                            (left < 0 ? "" : " in " + span(left)),
                        rlock(force, snapshot) + "  # only if its command is gone, too"});
  }
}

void find_wrong_kinds(std::vector<Problem>& problems, const Snapshot& snapshot,
                      const std::vector<KeyType>& types) {
  const char* const hint = "no lock keeps such a value there; see what wrote it";
  if (snapshot.kind == Snapshot::Kind::unknown && types[0].type == "hash") {
    problems.push_back({"wrong_kind", types[0].key + " is a hash that is not a lock", hint});
  }
  const std::vector<std::string> expected[] = {{"hash", "string", "none"},
                                               {"list", "none"},
                                               {"zset", "none"},
                                               {"hash", "none"},
                                               {"string", "none"}};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto& allowed = expected[i];
    if (std::find(allowed.begin(), allowed.end(), types[i].type) != allowed.end()) continue;
    problems.push_back({"wrong_kind", types[i].key + " is a " + types[i].type, hint});
  }
}

// Returns who holds a read/write lock although another writes: a writer's own holds start with what
// precedes ":write" in his.
std::vector<std::string> strangers(const Snapshot& snapshot) {
  const std::pair<std::string, std::string> writing("mode", "write");
  const auto writer =
      std::find_if(snapshot.holders.begin(), snapshot.holders.end(),
                   [](const Holder& holder) { return holder.mode == Holder::Mode::write; });
  std::vector<std::string> found;
  if (writer == snapshot.holders.end() ||
      std::find(snapshot.hash.begin(), snapshot.hash.end(), writing) == snapshot.hash.end()) {
    return found;
  }
  const std::string his = writer->owner.substr(0, writer->owner.rfind(':'));
  for (const Holder& holder : snapshot.holders) {
    const std::string& owner = holder.owner;
    if (owner != his && !owner.starts_with(his + ":")) found.push_back(owner);
  }
  return found;
}

void find_mixed_kinds(std::vector<Problem>& problems, const Snapshot& snapshot) {
  const auto add = [&](const std::string& detail) {
    problems.push_back({"mixed_kinds", detail,
                        "use one kind for this name everywhere: kinds do not wake each other's "
                        "waiters, and can end each other's locks"});
  };
  if (const auto all = name_all(strangers(snapshot))) {
    add("somebody writes, and yet the lock is held by " + *all + ", as a lock of another kind");
  }
  if (snapshot.queue.empty()) return;
  const char* const others = ", while others wait for it as a fair lock";
  if (snapshot.kind == Snapshot::Kind::read_write) add(std::string("a read/write lock") + others);
  if (snapshot.kind == Snapshot::Kind::simple) add(std::string("a string lock") + others);
  for (const Holder& holder : snapshot.holders) {
    if (holder.kind != "reentrant") continue;
    return add("held as a reentrant lock by " + holder.owner + others);
  }
}

void find_dead_head(std::vector<Problem>& problems, const Snapshot& snapshot) {
  if (snapshot.waiters.empty()) return;
  const Waiter& head = snapshot.waiters.front();
  if (head.alive != false) return;
  std::string detail = "the first waiter, " + head.owner + ", is dead";
  if (head.deadline_ms && *head.deadline_ms > snapshot.time_ms) {
    detail += "; waiters of Redisson wait for it for another " +
              span(*head.deadline_ms - snapshot.time_ms);
  }
  problems.push_back({"dead_head", detail, evict(snapshot, head.owner)});
}

}  // namespace

std::vector<Problem> find_problems(const Snapshot& snapshot, const std::vector<KeyType>& types) {
  std::vector<Problem> problems;
  find_lasting_hold(problems, snapshot);
  find_wrong_kinds(problems, snapshot, types);
  find_mixed_kinds(problems, snapshot);
  find_dead_head(problems, snapshot);
  if (const auto all = name_all(snapshot.dead_readers)) {
    problems.push_back(
        {"dead_reader", "all keys of a reader's holds have expired: " + *all + "; it is dead",
         rlock("unlock --force", snapshot) + "  # if no reader lives; else it ends with them"});
  }
  const auto scoreless = waiters_that(
      snapshot, [](const Waiter& waiter, std::int64_t) { return !waiter.deadline_ms; });
  if (const auto all = name_all(scoreless)) {
    problems.push_back(
        {"member_without_score",
         "in the queue without a deadline: " + *all + "; Redisson does not get past it at the head",
         rlock("doctor --repair", snapshot)});
  }
  if (const auto all = name_all(orphans(snapshot))) {
    problems.push_back({"score_without_member",
                        "a deadline, but no place in the queue: " + *all +
                            "; if it lives, Redisson never lets it have its turn",
                        rlock("doctor --repair", snapshot)});
  }
  const std::int64_t left = std::max<std::int64_t>(snapshot.ttl_ms.value_or(0), 0);
  const auto far = waiters_that(snapshot, [&](const Waiter& waiter, std::int64_t place) {
    return waiter.deadline_ms &&
           *waiter.deadline_ms - snapshot.time_ms - left > place * k_redisson_wait_ms + k_far_ms;
  });
  if (const auto all = name_all(far)) {
    problems.push_back(
        {"deadline_far_ahead",
         "a deadline that is too far ahead: " + *all + "; the clock of its host may be wrong",
         evict(snapshot, far.front()) + "  # if it is dead; else set that clock"});
  }
  return problems;
}

}  // namespace rlock::lock
