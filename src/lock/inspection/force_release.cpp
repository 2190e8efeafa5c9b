#include "lock/inspection/force_release.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "base/random.hpp"
#include "lock/servers/question.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/owner_info.hpp"
#include "lock/words/wrong_kind.hpp"
#include "lua_scripts.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

using Words = std::vector<std::string>;

// How often the holders may change before break_lock gives up.
constexpr int k_most_changes = 20;
constexpr std::size_t k_latch_id_bytes = 16;

// Sends a request that the server remembers by `latch`, and then deletes the latch. Returns the
// answer, and sets `unanswered` to the number of sendings without an answer.
redis::Reply run_once(redis::Client& client, const redis::ScriptCall& call, const Key& latch,
                      int& unanswered) {
  unanswered = 0;
  redis::Reply reply = client.run(call, &unanswered);
  // All requests are answered, so the latch need not stop a late one.
  if (unanswered == 0) client.send_pipelined({"DEL", latch});
  return reply;
}

// Throws doubtful_hash if a lock that was found, and not broken, may be an application's hash.
void check_hash(const Key& lock, const lua::breaking::Found& found) {
  if (found.outcome == "broken") return;
  for (std::size_t i = 0; i + 2 < found.holders.size(); i += 3) {
    const bool is_told = !found.holders[i + 2].as_text().empty();
    if (is_told || looks_like_field_owner(found.holders[i].as_text())) continue;
    throw doubtful_hash(lock);
  }
}

using Task = decltype(lua::force_release::Call::task);

// Runs force_release.lua with `task`. Returns its answer.
lua::breaking::Answer break_it(redis::Client& client, const KeyNames& keys, ForceReleaseTarget what,
                               Task task, const Words& expected, int& unanswered) {
  using KindWord = decltype(lua::force_release::Call::kind);
  const Key latch = keys.latch(random_hex(k_latch_id_bytes));
  const lua::force_release::Call call{
      .lock = keys.lock,
      .channel = keys.channel,
      .info = keys.info,
      .latch = latch,
      .queue = keys.queue,
      .scores = keys.scores,
      .rw_channel = keys.read_write_channel,
      .memory = memory_of(client),
      .prefix = keys.reader_prefix,
      .semaphore_channel = keys.semaphore_channel,
      .kind = what == ForceReleaseTarget::simple ? KindWord("simple") : "lock",
      .task = task,
      .expected = expected};
  return lua::breaking::read(run_once(client, call, latch, unanswered));
}

// Runs force_release_semaphore.lua with `task`. Returns its answer.
lua::breaking::Answer break_semaphore(redis::Client& client, const KeyNames& keys, Task task,
                                      const Words& expected, int& unanswered) {
  const Key latch = keys.latch(random_hex(k_latch_id_bytes));
  const lua::force_release_semaphore::Call call{.lock = keys.lock,
                                                .info = keys.info,
                                                .latch = latch,
                                                .permits = keys.permits,
                                                .memory = memory_of(client),
                                                .channel = keys.semaphore_channel,
                                                .task = task,
                                                .expected = expected};
  return lua::breaking::read(run_once(client, call, latch, unanswered));
}

Party make_party(const std::string& owner, const std::string& told) {
  if (told.empty()) return {owner};
  const OwnerInfo info = parse_owner_info(told);
  return {owner, info.about, info.since_ms, true};
}

Holder::Mode mode_of(const std::string& mode, const std::string& owner) {
  if (mode.empty()) return Holder::Mode::exclusive;
  return owner.ends_with(":write") ? Holder::Mode::write : Holder::Mode::read;
}

// Runs force_release.lua, or, for a semaphore, the other script. If a semaphore has lost its
// number, the first script finds nothing. Sets `unanswered` as run_once.
lua::breaking::Answer break_lock_or_semaphore(redis::Client& client, const KeyNames& keys,
                                              Task task, const Words& expected, int& unanswered) {
  auto answer = break_it(client, keys, ForceReleaseTarget::lock, task, expected, unanswered);
  const auto* other = std::get_if<lua::breaking::InUse>(&answer);
  if (other != nullptr) {
    if (other->kind != "string") return answer;
    return break_semaphore(client, keys, task, expected, unanswered);
  }
  const auto& hash = std::get<lua::breaking::Found>(answer);
  check_hash(keys.lock, hash);
  if (hash.outcome != "free") return answer;
  int more = 0;
  try {
    auto permits = break_semaphore(client, keys, task, expected, more);
    const auto* found = std::get_if<lua::breaking::Found>(&permits);
    if (found != nullptr && found->outcome != "free") answer = std::move(permits);
  } catch (const redis::ServerError& error) {
    // A user that needs no semaphores may have no right to their keys.
    if (error.status() != ExitStatus::permission) throw;
  }
  unanswered += more;
  return answer;
}

// Runs the right script, and reads its answer. Sets `unanswered` as run_once.
ForceRelease request(redis::Client& client, const std::string& name, ForceReleaseTarget what,
                     Task task, const Words& expected, int& unanswered) {
  check_name(name);
  const KeyNames keys(name);
  const auto answer = what == ForceReleaseTarget::lock
                          ? break_lock_or_semaphore(client, keys, task, expected, unanswered)
                          : break_it(client, keys, what, task, expected, unanswered);
  if (const auto* other = std::get_if<lua::breaking::InUse>(&answer)) {
    const bool may_be_simple = what == ForceReleaseTarget::lock && other->kind == "string";
    throw not_a_lock(name, other->kind,
                     may_be_simple ? ": if it is a lock, and no semaphore that nobody holds, "
                                     "--kind simple breaks it"
                                   : "");
  }
  const auto& reply = std::get<lua::breaking::Found>(answer);
  ForceRelease breaking;
  breaking.outcome = reply.outcome == "broken" ? ForceRelease::Outcome::broken
                     : reply.outcome == "free" ? ForceRelease::Outcome::free
                                               : ForceRelease::Outcome::held_by_others;
  FoundLock& found = breaking.found;
  found.time_ms = reply.now;
  found.ttl_ms = reply.pttl;
  found.queued = reply.queued;
  if (reply.listeners >= 0) found.listening = reply.listeners;
  const auto& holders = reply.holders;
  for (std::size_t i = 0; i + 2 < holders.size(); i += 3) {
    Holder& holder = found.holders.emplace_back();
    static_cast<Party&>(holder) = make_party(holders[i].as_text(), holders[i + 2].as_text());
    holder.count = parse_integer<std::int64_t>(holders[i + 1].as_text()).value_or(1);
    holder.mode = mode_of(reply.mode, holder.owner);
  }
  if (what == ForceReleaseTarget::simple && !found.holders.empty()) {
    const Holder& holder = found.holders.front();
    if (!holder.is_told && !looks_like_owner(holder.owner)) found.ambiguity = Ambiguity::string;
  }
  if (what == ForceReleaseTarget::hash &&
      std::ranges::any_of(found.holders, [](const Holder& holder) {
        return !holder.is_told && !looks_like_field_owner(holder.owner);
      })) {
    found.ambiguity = Ambiguity::hash;
  }
  return breaking;
}

}  // namespace

Words owners_of(const FoundLock& found) {
  Words owners;
  for (const Holder& holder : found.holders) owners.push_back(holder.owner);
  return owners;
}

FoundLock look_at(redis::Client& client, const std::string& name, ForceReleaseTarget what) {
  int unanswered = 0;
  return request(client, name, what, "look", {}, unanswered).found;
}

ForceRelease break_lock(redis::Client& client, const std::string& name, ForceReleaseTarget what,
                        const std::optional<Words>& expected) {
  int unanswered = 0;
  if (expected) {
    if (what == ForceReleaseTarget::lock &&
        !std::ranges::all_of(*expected, looks_like_field_owner)) {
      (void)look_at(client, name, what);
    }
    return request(client, name, what, "only", *expected, unanswered);
  }
  // Name the holders here, too: a request that the server runs twice, however late, must not break
  // the lock of the next holder. If a request got no answer, do not send one with other names.
  ForceRelease breaking{ForceRelease::Outcome::held_by_others, look_at(client, name, what)};
  for (int i = 0; i < k_most_changes && unanswered == 0; ++i) {
    if (breaking.outcome != ForceRelease::Outcome::held_by_others) break;
    breaking = request(client, name, what, "only", owners_of(breaking.found), unanswered);
  }
  return breaking;
}

std::optional<Eviction> evict(redis::Client& client, const std::string& name,
                              const std::string& waiter) {
  check_name(name);
  int unanswered = 0;
  const KeyNames keys(name);
  const Key latch = keys.latch(random_hex(k_latch_id_bytes));
  const lua::evict::Call call{.lock = keys.lock,
                              .channel = keys.channel,
                              .info = keys.info,
                              .latch = latch,
                              .queue = keys.queue,
                              .scores = keys.scores,
                              .memory = memory_of(client),
                              .waiter = waiter};
  const auto answer = lua::evict::read(run_once(client, call, latch, unanswered));
  if (const auto* other = std::get_if<lua::evict::InUse>(&answer)) {
    throw not_a_lock(name, other->kind);
  }
  const auto* evicted = std::get_if<lua::evict::Evicted>(&answer);
  if (evicted == nullptr) return std::nullopt;
  Eviction eviction;
  eviction.waiter = make_party(waiter, evicted->told);
  if (evicted->place >= 0) eviction.position = static_cast<std::size_t>(evicted->place) + 1;
  if (evicted->alive >= 0) eviction.alive = evicted->alive == 1;
  if (has_waiter_ended(eviction.waiter)) eviction.alive = false;
  return eviction;
}

DeadEvictions evict_dead(redis::Client& client, const std::string& name,
                         const std::vector<std::string>& gone) {
  check_name(name);
  const KeyNames keys(name);
  DeadEvictions all;
  std::size_t before = 0;
  do {
    before = all.evicted;
    all.unknown = 0;
    std::string carry;
    for (std::int64_t from = 0; from >= 0;) {
      int unanswered = 0;
      const Key latch = keys.latch(random_hex(k_latch_id_bytes));
      const lua::evict_dead::Call call{.lock = keys.lock,
                                       .channel = keys.channel,
                                       .info = keys.info,
                                       .latch = latch,
                                       .queue = keys.queue,
                                       .scores = keys.scores,
                                       .memory = memory_of(client),
                                       .from = from,
                                       .carry = carry,
                                       .gone = gone};
      const auto answer = lua::evict_dead::read(run_once(client, call, latch, unanswered));
      if (const auto* other = std::get_if<lua::evict_dead::InUse>(&answer)) {
        throw not_a_lock(name, other->kind);
      }
      const auto& looked = std::get<lua::evict_dead::Looked>(answer);
      all.evicted += static_cast<std::size_t>(looked.evicted);
      all.unknown += static_cast<std::size_t>(looked.unknown);
      from = looked.next;
      carry = looked.carry;
    }
    // A waiter that left meanwhile moves those behind it into places that were looked at.
  } while (all.evicted > before);
  return all;
}

}  // namespace rlock::lock
