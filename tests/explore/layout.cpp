#include "explore/layout.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace rlock::explore {
namespace {

const std::string k_channel = "redisson_lock__channel:{L}";
const std::string k_rw_channel = "redisson_rwlock:{L}";
const std::string k_semaphore_channel = "redisson_sc:{L}";
const std::string k_about = R"({"host":"h"})";
const std::string k_redissons_memory = "16000";  // of its latches, by its defaults: at least
const std::string k_redissons_wait = "300000";   // by its defaults

constexpr std::array<const char*, 9> k_names{"plain",   "fair",       "simple",
                                             "value",   "read-write", "semaphore",
                                             "service", "mixed",      "mixed-fair"};

const char* side(const Hold& hold) { return hold.writes ? "write" : "read"; }

std::string standing(const Hold& hold) {
  if (hold.is_outer) return "nested";
  if (hold.is_unproven) return "unproven";
  return hold.is_reentered ? "reentered" : "";
}

std::string latch(const Hold& hold) { return k_latch + hold.id; }

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

// Every lock draws tokens that can.
bool Layout::fences(const Hold& hold) const {
  return !is_semaphore(kind) && (kind != Kind::read_write || hold.writes);
}

Sent Layout::take(const std::string& owner, const Hold& hold) const {
  if (hold.is_redissons && is_fair(kind)) {
    return {"redisson/acquire_fair",
            {k_lock, k_queue, k_scores},
            {std::to_string(k_lease_ms), owner, k_redissons_wait, std::to_string(k_now_ms)}};
  }
  if (hold.is_redissons) return {"redisson/acquire", {k_lock}, {std::to_string(k_lease_ms), owner}};
  Sent sent{"acquire",
            {k_lock, k_info, latch(hold)},
            {std::to_string(k_lease_ms), owner, k_about, fences(hold) ? "1" : "0", ""}};
  const auto keys = [&](const Words& more) {
    sent.keys.insert(sent.keys.end(), more.begin(), more.end());
  };
  const auto args = [&](const Words& more) {
    sent.args.insert(sent.args.end(), more.begin(), more.end());
  };
  switch (kind) {
    case Kind::plain:
    case Kind::mixed:
      keys({k_queue});
      break;
    case Kind::fair:
    case Kind::mixed_fair:
      sent.script = "acquire_fair";
      keys({k_queue, k_scores});
      args({k_channel, std::to_string(k_fair_wait_ms)});
      break;
    case Kind::simple:
    case Kind::value:
      sent.script = "acquire_simple";
      args({kind == Kind::simple ? "1" : "0", k_permits});
      break;
    case Kind::read_write:
      sent.script = hold.writes ? "acquire_write" : "acquire_read";
      args({k_reader_prefix});
      break;
    case Kind::semaphore:
    case Kind::service:
      sent.script = "acquire_semaphore";
      keys({k_permits});
      args({std::to_string(permits), k_semaphore_channel});
      break;
  }
  if (fences(hold)) keys({k_token});
  return sent;
}

Sent Layout::reenter(const std::string& owner, const Hold& hold) const {
  if (hold.is_redissons) return take(owner, hold);
  const std::int64_t memory =
      kind == Kind::value ? std::max(k_memory_ms, 2 * k_lease_ms) : k_memory_ms;
  Sent sent{"reenter",
            {k_lock, latch(hold), k_info},
            {std::to_string(k_lease_ms), owner, std::to_string(memory)}};
  if (is_semaphore(kind)) {
    sent.script = "reenter_semaphore";
    sent.keys.push_back(k_permits);
    return sent;
  }
  sent.args.push_back(fences(hold) ? "1" : "0");
  if (kind == Kind::read_write) {
    sent.script = "reenter_read_write";
    sent.args.insert(sent.args.end(), {k_reader_prefix, side(hold)});
  }
  if (fences(hold)) sent.keys.push_back(k_token);
  return sent;
}

Sent Layout::renew(const std::string& owner, const Hold& hold, std::int64_t lease) const {
  const std::string span = std::to_string(lease);
  if (hold.is_redissons) return {"redisson/renew", {k_lock}, {span, owner}};
  if (is_semaphore(kind)) return {"renew_semaphore", {k_permits}, {span, owner, k_info, k_lock}};
  if (kind == Kind::read_write) {
    return {"renew_read_write", {k_lock}, {span, owner, k_info, k_reader_prefix, side(hold)}};
  }
  const bool is_latched = kind == Kind::value && hold.is_unproven;
  return {"renew", {k_lock}, {span, owner, k_info, is_latched ? latch(hold) : ""}};
}

Sent Layout::release(const std::string& owner, const Hold& hold, std::int64_t keep_ms) const {
  const std::string memory = std::to_string(k_memory_ms), keep = std::to_string(keep_ms);
  const std::string known = hold.is_known ? "1" : "";
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
  if (is_semaphore(kind)) {
    return {"release_semaphore",
            {k_lock, k_info, latch(hold), k_permits},
            {owner, memory, keep, standing(hold), k_semaphore_channel, known}};
  }
  if (kind == Kind::read_write) {
    return {"release_read_write",
            {k_lock, k_rw_channel, k_info, latch(hold)},
            {owner, memory, keep, k_reader_prefix, standing(hold), side(hold), known}};
  }
  return {"release",
          {k_lock, k_channel, k_info, latch(hold), k_queue, k_scores},
          {owner, memory, keep, is_fair(kind) ? std::to_string(k_fair_wait_ms) : "0",
           standing(hold), "1", known}};
}

Sent Layout::force(const std::string& request, const Words& owners) const {
  const std::string memory = std::to_string(k_memory_ms), answer = k_latch + request;
  Sent sent;
  if (is_semaphore(kind)) {
    sent = {"force_release_semaphore",
            {k_lock, k_info, answer, k_permits},
            {memory, k_semaphore_channel, "only"}};
  } else {
    sent = {"force_release",
            {k_lock, k_channel, k_info, answer, k_queue, k_scores, k_rw_channel},
            {memory, k_reader_prefix, is_string(kind) ? "simple" : "lock", "only"}};
  }
  sent.args.insert(sent.args.end(), owners.begin(), owners.end());
  return sent;
}

Sent Layout::evict(const std::string& request, const std::string& waiter) const {
  return {"evict",
          {k_lock, k_channel, k_info, k_latch + request, k_queue, k_scores},
          {std::to_string(k_memory_ms), waiter}};
}

// Latches without an expiry would come after these keys: there are none.
Sent Layout::repair() {
  return {"repair",
          {k_lock, k_channel, k_info, k_queue, k_scores},
          {"repair", k_permits, k_semaphore_channel}};
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
  if (kind != Kind::value || hold.is_outer) return true;
  const Value* proof = find(store, latch(hold));
  return proof != nullptr && proof->text == "entered";
}

std::int64_t Layout::left(const Store& store, const std::string& owner, const Hold& hold) const {
  if (!has(store, owner, hold)) return 0;
  const std::int64_t lock = left_of(store, k_lock);
  if (kind == Kind::value && !hold.is_outer) return std::min(lock, left_of(store, latch(hold)));
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
