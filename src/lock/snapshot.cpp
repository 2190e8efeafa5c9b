#include "lock/snapshot.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <unordered_map>

#include "lock/key_names.hpp"
#include "lock/owner_info.hpp"
#include "lock/snapshot_problems.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

using Replies = std::vector<redis::Reply>;

// The places of snapshot.lua's answer.
enum Place : std::size_t {
  k_now,
  k_type,
  k_ttl,
  k_content,
  k_queue,
  k_scores,
  k_token,
  k_queue_type,
  k_scores_type,
  k_info_type,
  k_info,
  k_listeners,
  k_elsewhere,
  k_places
};

std::optional<std::int64_t> to_number(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::int64_t to_time(double score) {
  constexpr auto k_limit = static_cast<double>(k_furthest_ms);
  return score == score ? static_cast<std::int64_t>(std::clamp(score, -k_limit, k_limit)) : 0;
}

using Infos = std::unordered_map<std::string, OwnerInfo>;

Infos parse_infos(const Replies& items) {
  Infos infos;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    infos.emplace(items[i].as_text(), parse_owner_info(items[i + 1].as_text()));
  }
  return infos;
}

const OwnerInfo* find(const Infos& infos, const std::string& owner) {
  const auto found = infos.find(owner);
  return found == infos.end() ? nullptr : &found->second;
}

Party party_of(const Infos& infos, const std::string& owner) {
  const OwnerInfo* info = find(infos, owner);
  if (info == nullptr) return {owner, std::nullopt, std::nullopt};
  return {owner, info->about, info->since_ms};
}

Holder make_holder(const Infos& infos, Snapshot::Kind kind, const std::string& field,
                   const std::string& value) {
  Holder holder;
  static_cast<Party&>(holder) = party_of(infos, field);
  holder.count = to_number(value).value_or(1);
  if (kind == Snapshot::Kind::read_write) {
    holder.mode = field.ends_with(":write") ? Holder::Mode::write : Holder::Mode::read;
  }
  return holder;
}

Snapshot::Kind find_kind(const std::string& type, const Snapshot& snapshot, const Infos& infos) {
  if (type == "string") return Snapshot::Kind::simple;
  if (type != "hash" && type != "none") return Snapshot::Kind::unknown;
  bool is_fair = !snapshot.queue.empty() || !snapshot.scores.empty();
  for (const auto& [field, value] : snapshot.hash) {
    if (field == "mode") return Snapshot::Kind::read_write;
    const OwnerInfo* info = find(infos, field);
    is_fair = is_fair || (info != nullptr && info->kind == "fair");
  }
  if (is_fair) return Snapshot::Kind::fair;
  return type == "none" ? Snapshot::Kind::none : Snapshot::Kind::reentrant;
}

// `listeners`: how many listen on the waiter's channel, if that is known.
std::optional<bool> is_alive(const Waiter& waiter, const OwnerInfo* info,
                             std::optional<std::int64_t> listeners, bool elsewhere,
                             std::int64_t now) {
  if (info != nullptr && info->due_ms) return now <= *info->due_ms;
  if (listeners && *listeners > 0) return true;
  if (!waiter.deadline_ms || *waiter.deadline_ms <= now) return false;
  if (listeners && !elsewhere) return false;
  return std::nullopt;
}

void add_waiters(Snapshot& snapshot, const Replies& items, const Infos& infos) {
  std::unordered_map<std::string, double> deadlines;
  const Replies& scores = items[k_scores].as_array();
  for (std::size_t i = 0; i + 1 < scores.size(); i += 2) {
    const double score = std::strtod(scores[i + 1].as_text().c_str(), nullptr);
    snapshot.scores.emplace_back(scores[i].as_text(), score);
    deadlines.emplace(scores[i].as_text(), score);
  }
  const Replies& listeners = items[k_listeners].as_array();
  const bool elsewhere = items[k_elsewhere].as_integer() == 1;
  for (const redis::Reply& member : items[k_queue].as_array()) {
    const std::size_t place = snapshot.queue.size();
    snapshot.queue.push_back(member.as_text());
    Waiter waiter;
    static_cast<Party&>(waiter) = party_of(infos, member.as_text());
    if (const auto found = deadlines.find(waiter.owner); found != deadlines.end()) {
      waiter.deadline_ms = to_time(found->second);
    }
    std::optional<std::int64_t> count;
    if (place < listeners.size()) count = listeners[place].as_integer();
    waiter.alive = is_alive(waiter, find(infos, waiter.owner), count, elsewhere, snapshot.time_ms);
    snapshot.waiters.push_back(std::move(waiter));
  }
}

}  // namespace

redis::ScriptArgs snapshot_args(const std::string& name) {
  const KeyNames keys(name);
  return {{keys.lock, keys.info, keys.queue, keys.timeout, keys.token}, {keys.channel}};
}

Snapshot read_snapshot(const std::string& name, redis::Reply reply) {
  const KeyNames keys(name);
  const Replies& items = reply.as_array(k_places);

  Snapshot snapshot;
  snapshot.name = name;
  snapshot.time_ms = to_number(items[k_now].as_text()).value_or(0);
  const std::string& type = items[k_type].as_text();
  snapshot.held = type != "none";
  if (snapshot.held) snapshot.ttl_ms = items[k_ttl].as_integer();
  if (!items[k_token].is_nil()) snapshot.token = to_number(items[k_token].as_text());

  const Replies& content = items[k_content].as_array();
  if (type == "hash") {
    for (std::size_t i = 0; i + 1 < content.size(); i += 2) {
      snapshot.hash.emplace_back(content[i].as_text(), content[i + 1].as_text());
    }
  }
  const Infos infos = parse_infos(items[k_info].as_array());
  add_waiters(snapshot, items, infos);
  snapshot.kind = find_kind(type, snapshot, infos);
  for (const auto& [field, value] : snapshot.hash) {
    if (snapshot.kind == Snapshot::Kind::read_write && field == "mode") continue;
    snapshot.holders.push_back(make_holder(infos, snapshot.kind, field, value));
  }
  if (snapshot.kind == Snapshot::Kind::simple && !content.empty()) {
    snapshot.holders.push_back(make_holder(infos, snapshot.kind, content[0].as_text(), "1"));
  }
  snapshot.problems = find_problems(snapshot, {{keys.lock, type},
                                               {keys.queue, items[k_queue_type].as_text()},
                                               {keys.timeout, items[k_scores_type].as_text()},
                                               {keys.info, items[k_info_type].as_text()}});
  return snapshot;
}

Snapshot take_snapshot(redis::Client& client, const std::string& name) {
  return read_snapshot(name, client.run(lua::snapshot, snapshot_args(name)));
}

}  // namespace rlock::lock
