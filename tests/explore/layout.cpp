#include "explore/layout.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace rlock::explore {
namespace {

constexpr std::array<const char*, 8> k_names{"plain",     "fair",    "simple", "read-write",
                                             "semaphore", "service", "mixed",  "mixed-fair"};

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
  if (kind == Kind::simple) return {lock->text};
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
  if (kind == Kind::simple) {
    const Value* lock = find(store, k_lock);
    return lock != nullptr && lock->text == owner ? 1 : 0;
  }
  return number_in(store, k_lock, writes && kind == Kind::read_write ? owner + ":write" : owner);
}

bool Layout::has(const Store& store, const std::string& owner, const Hold& hold) const {
  return count(store, owner, hold.writes) != 0;
}

std::int64_t Layout::left(const Store& store, const std::string& owner, const Hold& hold) const {
  if (!has(store, owner, hold)) return 0;
  const std::int64_t lock = left_of(store, k_lock);
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
