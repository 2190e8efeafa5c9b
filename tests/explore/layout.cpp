#include "explore/layout.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace rlock::explore {
namespace {

const Key k_channel("redisson_lock__channel:{L}");
const Key k_rw_channel("redisson_rwlock:{L}");
const Key k_semaphore_channel("redisson_sc:{L}");
const std::string k_about = R"({"host":"h"})";
const std::string k_redissons_memory = "16000";  // of its latches, by its defaults: at least
const std::string k_redissons_wait = "300000";   // by its defaults

constexpr std::array<const char*, 9> k_names{"plain",   "fair",       "simple",
                                             "value",   "read-write", "semaphore",
                                             "service", "mixed",      "mixed-fair"};

using Side = decltype(lua::release_read_write::Call::side);
using Standing = decltype(lua::release::Call::standing);

Side side(const Hold& hold) { return hold.writes ? Side("write") : "read"; }

Standing standing(const Hold& hold) {
  if (hold.is_outer) return "nested";
  if (hold.is_unproven) return "unproven";
  return hold.is_reentered ? Standing("reentered") : "granted";
}

Key latch(const Hold& hold) { return Key(k_latch + hold.id); }

std::optional<Key> outer(const Hold& hold) {
  return hold.outer.empty() ? std::nullopt : std::optional(Key(k_latch + hold.outer));
}

// Returns the latch that tells the hold of a value from others of the same value, or nothing.
std::optional<Key> proof(const Hold& hold) { return hold.is_outer ? outer(hold) : latch(hold); }

std::int64_t left_of(const Store& store, const std::string& key) {
  constexpr std::int64_t k_for_ever = INT64_MAX;
  const Value* value = find(store, key);
  if (value == nullptr) return 0;
  return value->end_ms == 0 ? k_for_ever : value->end_ms - k_now_ms;
}

std::optional<double> end_of_permit(const Store& store, const std::string& owner) {
  const Value* permits = find(store, k_permits);
  if (permits == nullptr) return std::nullopt;
  for (const auto& [end, holder] : permits->zset) {
    if (holder == owner) return end;
  }
  return std::nullopt;
}

int number_in(const Store& store, const std::string& key, const std::string& field) {
  const Value* value = find(store, key);
  if (value == nullptr) return 0;
  const auto found = value->hash.find(field);
  return found == value->hash.end() ? 0 : std::stoi(found->second);
}

}  // namespace

Sent sent(const redis::ScriptCall& call) {
  return {std::string(call.script.name), call.keys, call.args};
}

std::optional<Kind> kind_of(const std::string& name) {
  const auto found = std::find(k_names.begin(), k_names.end(), name);
  if (found == k_names.end()) return std::nullopt;
  return static_cast<Kind>(found - k_names.begin());
}

const char* name_of(Kind kind) { return k_names.at(static_cast<std::size_t>(kind)); }
bool is_semaphore(Kind kind) { return kind == Kind::semaphore || kind == Kind::service; }
bool is_mixed(Kind kind) { return kind == Kind::mixed || kind == Kind::mixed_fair; }
bool is_fair(Kind kind) { return kind == Kind::fair || kind == Kind::mixed_fair; }
bool is_string(Kind kind) { return kind == Kind::simple || kind == Kind::value; }

bool stands_in_queue(const Store& store, const std::string& owner) {
  const Value* queue = find(store, k_queue);
  return queue != nullptr &&
         std::find(queue->list.begin(), queue->list.end(), owner) != queue->list.end();
}

const Value* find(const Store& store, const std::string& name) {
  const auto found = store.keys.find(name);
  return found == store.keys.end() ? nullptr : &found->second;
}

std::string hold_key(const std::string& reader, int hold) {
  return k_reader_prefix + reader + ":rwlock_timeout:" + std::to_string(hold);
}

bool Layout::fences(const Hold& hold) const {
  return draws_tokens && !is_semaphore(kind) && (kind != Kind::read_write || hold.writes);
}

Sent Layout::take(const std::string& owner, const Hold& hold) const {
  if (hold.is_redissons && is_fair(kind)) {
    return {"redisson/acquire_fair",
            {k_lock, k_queue, k_scores},
            {std::to_string(k_lease_ms), owner, k_redissons_wait, std::to_string(k_now_ms)}};
  }
  if (hold.is_redissons) return {"redisson/acquire", {k_lock}, {std::to_string(k_lease_ms), owner}};
  const Milliseconds lease(k_lease_ms);
  const auto token = fences(hold) ? std::optional(k_token) : std::nullopt;
  using FencingWord = decltype(lua::acquire::Call::fencing);
  const FencingWord fencing = fences(hold) ? FencingWord("draw") : "off";
  switch (kind) {
    case Kind::plain:
    case Kind::mixed:
      break;
    case Kind::fair:
    case Kind::mixed_fair:
      return sent(lua::acquire_fair::Call{.lock = k_lock,
                                          .info = k_info,
                                          .latch = latch(hold),
                                          .queue = k_queue,
                                          .scores = k_scores,
                                          .token = token,
                                          .lease = lease,
                                          .owner = owner,
                                          .about_json = k_about,
                                          .fencing = fencing,
                                          .channel = k_channel,
                                          .wait = Milliseconds(k_fair_wait_ms)});
    case Kind::simple:
    case Kind::value:
      return sent(lua::acquire_simple::Call{.lock = k_lock,
                                            .info = k_info,
                                            .latch = latch(hold),
                                            .token = token,
                                            .lease = lease,
                                            .owner = owner,
                                            .about_json = k_about,
                                            .fencing = fencing,
                                            .restart_delay = std::nullopt,
                                            .is_unique = kind == Kind::simple,
                                            .permits = k_permits,
                                            .channel = k_channel,
                                            .taken = "2"});
    case Kind::read_write:
      if (hold.writes) {
        return sent(lua::acquire_write::Call{.lock = k_lock,
                                             .info = k_info,
                                             .latch = latch(hold),
                                             .token = token,
                                             .lease = lease,
                                             .owner = owner,
                                             .about_json = k_about,
                                             .fencing = fencing,
                                             .prefix = k_reader_prefix});
      }
      return sent(lua::acquire_read::Call{.lock = k_lock,
                                          .info = k_info,
                                          .latch = latch(hold),
                                          .lease = lease,
                                          .owner = owner,
                                          .about_json = k_about,
                                          .prefix = k_reader_prefix});
    case Kind::semaphore:
    case Kind::service:
      return sent(lua::acquire_semaphore::Call{.lock = k_lock,
                                               .info = k_info,
                                               .latch = latch(hold),
                                               .permits = k_permits,
                                               .lease = lease,
                                               .owner = owner,
                                               .about_json = k_about,
                                               .most = permits,
                                               .channel = k_semaphore_channel,
                                               .taken = "0"});
  }
  return sent(lua::acquire::Call{.lock = k_lock,
                                 .info = k_info,
                                 .latch = latch(hold),
                                 .queue = k_queue,
                                 .token = token,
                                 .lease = lease,
                                 .owner = owner,
                                 .about_json = k_about,
                                 .fencing = fencing,
                                 .restart_delay = std::nullopt,
                                 .channel = k_channel,
                                 .taken = "2"});
}

Sent Layout::reenter(const std::string& owner, const Hold& hold) const {
  if (hold.is_redissons) return take(owner, hold);
  const Milliseconds lease(k_lease_ms);
  const Milliseconds memory(kind == Kind::value ? std::max(k_memory_ms, 2 * k_lease_ms)
                                                : k_memory_ms);
  const auto token = fences(hold) ? std::optional(k_token) : std::nullopt;
  if (is_semaphore(kind)) {
    return sent(lua::reenter_semaphore::Call{.lock = k_lock,
                                             .latch = latch(hold),
                                             .info = k_info,
                                             .permits = k_permits,
                                             .lease = lease,
                                             .owner = owner,
                                             .memory = memory});
  }
  if (kind == Kind::read_write) {
    using FencingWord = decltype(lua::reenter_read_write::Call::fencing);
    return sent(lua::reenter_read_write::Call{.lock = k_lock,
                                              .latch = latch(hold),
                                              .info = k_info,
                                              .token = token,
                                              .lease = lease,
                                              .owner = owner,
                                              .memory = memory,
                                              .fencing = fences(hold) ? FencingWord("draw") : "off",
                                              .prefix = k_reader_prefix,
                                              .side = side(hold)});
  }
  using FencingWord = decltype(lua::reenter::Call::fencing);
  return sent(lua::reenter::Call{.lock = k_lock,
                                 .latch = latch(hold),
                                 .info = k_info,
                                 .token = token,
                                 .lease = lease,
                                 .owner = owner,
                                 .memory = memory,
                                 .fencing = fences(hold) ? FencingWord("draw") : "off",
                                 .outer = outer(hold)});
}

Sent Layout::renew(const std::string& owner, const Hold& hold, std::int64_t lease_ms) const {
  const Milliseconds lease(lease_ms);
  if (hold.is_redissons) return {"redisson/renew", {k_lock}, {std::to_string(lease_ms), owner}};
  if (is_semaphore(kind)) {
    return sent(lua::renew_semaphore::Call{
        .permits = k_permits, .lease = lease, .owner = owner, .info = k_info, .lock = k_lock});
  }
  if (kind == Kind::read_write) {
    return sent(lua::renew_read_write::Call{.lock = k_lock,
                                            .lease = lease,
                                            .owner = owner,
                                            .info = k_info,
                                            .prefix = k_reader_prefix,
                                            .side = side(hold)});
  }
  return sent(lua::renew::Call{.lock = k_lock,
                               .lease = lease,
                               .owner = owner,
                               .info = k_info,
                               .latch = kind == Kind::value ? proof(hold) : std::nullopt});
}

Sent Layout::release(const std::string& owner, const Hold& hold, std::int64_t keep_ms) const {
  if (hold.is_redissons && is_fair(kind)) {
    return {"redisson/release_fair",
            {k_lock, k_queue, k_scores, k_channel, latch(hold)},
            {"0", std::to_string(k_lease_ms), owner, std::to_string(k_now_ms), "publish",
             k_redissons_memory}};
  }
  if (hold.is_redissons) {
    return {"redisson/release",
            {k_lock, k_channel, latch(hold)},
            {"0", std::to_string(k_lease_ms), owner, "publish", k_redissons_memory}};
  }
  const Milliseconds memory(k_memory_ms), keep(keep_ms);
  if (is_semaphore(kind)) {
    return sent(lua::release_semaphore::Call{.lock = k_lock,
                                             .info = k_info,
                                             .latch = latch(hold),
                                             .permits = k_permits,
                                             .owner = owner,
                                             .memory = memory,
                                             .keep = keep,
                                             .standing = standing(hold),
                                             .channel = k_semaphore_channel,
                                             .is_shared = hold.is_known});
  }
  if (kind == Kind::read_write) {
    return sent(lua::release_read_write::Call{.lock = k_lock,
                                              .channel = k_rw_channel,
                                              .info = k_info,
                                              .latch = latch(hold),
                                              .owner = owner,
                                              .memory = memory,
                                              .keep = keep,
                                              .prefix = k_reader_prefix,
                                              .standing = standing(hold),
                                              .side = side(hold),
                                              .is_shared = hold.is_known});
  }
  return sent(lua::release::Call{.lock = k_lock,
                                 .channel = k_channel,
                                 .info = k_info,
                                 .latch = latch(hold),
                                 .queue = k_queue,
                                 .scores = k_scores,
                                 .owner = owner,
                                 .memory = memory,
                                 .keep = keep,
                                 .wait = Milliseconds(is_fair(kind) ? k_fair_wait_ms : 0),
                                 .standing = standing(hold),
                                 .wakes = true,
                                 .is_shared = hold.is_known,
                                 .outer = outer(hold)});
}

Sent Layout::force(const std::string& request, const Words& owners) const {
  using KindWord = decltype(lua::force_release::Call::kind);
  const Milliseconds memory(k_memory_ms);
  const Key answer(k_latch + request);
  if (is_semaphore(kind)) {
    return sent(lua::force_release_semaphore::Call{.lock = k_lock,
                                                   .info = k_info,
                                                   .latch = answer,
                                                   .permits = k_permits,
                                                   .memory = memory,
                                                   .channel = k_semaphore_channel,
                                                   .task = "only",
                                                   .expected = owners});
  }
  return sent(lua::force_release::Call{.lock = k_lock,
                                       .channel = k_channel,
                                       .info = k_info,
                                       .latch = answer,
                                       .queue = k_queue,
                                       .scores = k_scores,
                                       .rw_channel = k_rw_channel,
                                       .memory = memory,
                                       .prefix = k_reader_prefix,
                                       .semaphore_channel = k_semaphore_channel,
                                       .kind = is_string(kind) ? KindWord("simple") : "lock",
                                       .task = "only",
                                       .expected = owners});
}

Sent Layout::evict(const std::string& request, const std::string& waiter) const {
  return sent(lua::evict::Call{.lock = k_lock,
                               .channel = k_channel,
                               .info = k_info,
                               .latch = Key(k_latch + request),
                               .queue = k_queue,
                               .scores = k_scores,
                               .memory = Milliseconds(k_memory_ms),
                               .waiter = waiter});
}

// There are no latches without an expiry.
Sent Layout::repair() {
  return sent(lua::repair::Call{.lock = k_lock,
                                .channel = k_channel,
                                .info = k_info,
                                .queue = k_queue,
                                .scores = k_scores,
                                .latches = {},
                                .task = "repair",
                                .permits = k_permits,
                                .semaphore_channel = k_semaphore_channel});
}

Reply Layout::as_ours(const Sent& sent, const Reply& reply) {
  const bool is_nil = reply.type == Reply::Type::nil;
  if (sent.script.starts_with("redisson/release"))
    return Reply::array({is_nil ? Reply::number(2) : reply});
  if (!sent.script.starts_with("redisson/acquire")) return reply;
  if (!is_nil) return Reply::array({Reply::number(0), reply});
  return Reply::array({Reply::number(1), Reply::number(0), Reply::number(0), Reply::bulk("")});
}

Sent Layout::give_up(const std::string& waiter) {
  return {"redisson/give_up_fair", {k_queue, k_scores}, {waiter, k_redissons_wait}};
}

std::string Layout::channel(const std::string& waiter) const {
  if (is_fair(kind)) return k_channel + ":" + waiter;
  if (kind == Kind::read_write) return k_rw_channel;
  return is_semaphore(kind) ? k_semaphore_channel : k_channel;
}

Words Layout::holders(const Store& store) const {
  Words found;
  if (is_semaphore(kind)) {
    const Value* out = find(store, k_permits);
    if (out == nullptr) return found;
    for (const auto& [end, holder] : out->zset) {
      if (end > static_cast<double>(k_now_ms)) found.push_back(holder);
    }
    return found;
  }
  const Value* lock = find(store, k_lock);
  if (lock == nullptr) return found;
  if (is_string(kind)) return {lock->text};
  for (const auto& [field, count] : lock->hash) {
    if (field != "mode") found.push_back(field);
  }
  return found;
}

int Layout::count(const Store& store, const std::string& owner, bool writes) const {
  if (is_semaphore(kind)) {
    if (!end_of_permit(store, owner)) return 0;
    const Value* info = find(store, k_info);
    const auto told = info == nullptr ? std::map<std::string, std::string>::const_iterator()
                                      : info->hash.find(owner);
    if (info == nullptr || told == info->hash.end()) return 1;
    return nlohmann::json::parse(told->second).value("holds", 1);
  }
  if (is_string(kind)) {
    const Value* lock = find(store, k_lock);
    return lock != nullptr && lock->text == owner ? 1 : 0;
  }
  return number_in(store, k_lock, writes && kind == Kind::read_write ? owner + ":write" : owner);
}

bool Layout::has(const Store& store, const std::string& owner, const Hold& hold) const {
  if (count(store, owner, hold.writes) == 0) return false;
  const auto key = kind == Kind::value ? proof(hold) : std::nullopt;
  const Value* entered = key ? find(store, *key) : nullptr;
  return !key || (entered != nullptr && entered->text == "entered");
}

std::int64_t Layout::left(const Store& store, const std::string& owner, const Hold& hold) const {
  if (!has(store, owner, hold)) return 0;
  const std::int64_t lock = left_of(store, k_lock);
  if (const auto key = proof(hold); kind == Kind::value && key) {
    return std::min(lock, left_of(store, *key));
  }
  if (is_semaphore(kind)) {
    const auto end = static_cast<std::int64_t>(end_of_permit(store, owner).value_or(0));
    const std::int64_t permit = std::min(end - k_now_ms, left_of(store, k_permits));
    return std::min(permit, lock);
  }
  if (kind != Kind::read_write || hold.writes) return lock;
  std::int64_t longest = 0;
  for (int i = 1; i <= count(store, owner, false); ++i)
    longest = std::max(longest, left_of(store, hold_key(owner, i)));
  return std::min(lock, longest);
}

}  // namespace rlock::explore
