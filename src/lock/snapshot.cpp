#include "lock/snapshot.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <unordered_map>

#include "lock/key_names.hpp"
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
  k_info,
  k_places
};

std::optional<std::int64_t> to_number(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// Times that others wrote may be anything; between these bounds their differences do not overflow.
constexpr std::int64_t k_furthest = 9'000'000'000'000'000;

std::int64_t to_time(double score) {
  constexpr auto k_limit = static_cast<double>(k_furthest);
  return score == score ? static_cast<std::int64_t>(std::clamp(score, -k_limit, k_limit)) : 0;
}

std::optional<std::int64_t> to_time(const std::string& text) {
  const auto time = to_number(text);
  if (!time) return std::nullopt;
  return std::clamp(*time, -k_furthest, k_furthest);
}

using Parties = std::unordered_map<std::string, Party>;

Parties parse_info(const Replies& entries) {
  Parties parties;
  for (const redis::Reply& entry : entries) {
    const Replies& fields = entry.as_array(7);
    Party party;
    party.owner = fields[0].as_text();
    About about;
    about.host = fields[1].as_text();
    about.user = fields[2].as_text();
    about.command = fields[3].as_text();
    about.pid = static_cast<pid_t>(to_number(fields[4].as_text()).value_or(0));
    party.since_ms = to_time(fields[5].as_text());
    party.about = about;
    parties.emplace(party.owner, party);
  }
  return parties;
}

Party party_of(const Parties& known, const std::string& owner) {
  const auto found = known.find(owner);
  return found == known.end() ? Party{owner, std::nullopt, std::nullopt} : found->second;
}

Holder make_holder(const Parties& known, Snapshot::Kind kind, const std::string& field,
                   const std::string& value) {
  Holder holder;
  static_cast<Party&>(holder) = party_of(known, field);
  holder.count = to_number(value).value_or(1);
  if (kind == Snapshot::Kind::read_write) {
    holder.mode = field.ends_with(":write") ? Holder::Mode::write : Holder::Mode::read;
  }
  return holder;
}

Snapshot::Kind find_kind(const std::string& type, const Snapshot& snapshot) {
  if (type == "string") return Snapshot::Kind::simple;
  if (type != "hash" && type != "none") return Snapshot::Kind::unknown;
  for (const auto& [field, value] : snapshot.hash) {
    if (field == "mode") return Snapshot::Kind::read_write;
  }
  if (!snapshot.queue.empty() || !snapshot.scores.empty()) return Snapshot::Kind::fair;
  return type == "none" ? Snapshot::Kind::none : Snapshot::Kind::reentrant;
}

void find_problems(Snapshot& snapshot, const Replies& items) {
  const auto wrong = [&](const char* what, const std::string& type) {
    snapshot.problems.push_back({"wrong_kind", std::string(what) + " is a " + type,
                                 "no lock keeps such a value there; see what wrote it"});
  };
  if (snapshot.held && snapshot.ttl_ms == -1) {
    const bool ours = snapshot.kind == Snapshot::Kind::reentrant;
    snapshot.problems.push_back({"no_expiry", "the lock has no expiry and will never end by itself",
                                 ours ? "if its holder is gone: rlock unlock --force NAME"
                                      : "if its holder is gone, delete the key"});
  }
  if (snapshot.kind == Snapshot::Kind::unknown) wrong("the lock's key", items[k_type].as_text());
  const std::string& queue_type = items[k_queue_type].as_text();
  const std::string& scores_type = items[k_scores_type].as_text();
  if (queue_type != "list" && queue_type != "none") wrong("the queue's key", queue_type);
  if (scores_type != "zset" && scores_type != "none") wrong("the deadlines' key", scores_type);
}

}  // namespace

Snapshot take_snapshot(redis::Client& client, const std::string& name) {
  const KeyNames keys(name);
  const redis::Reply reply =
      client.run(lua::snapshot, {{keys.lock, keys.info, keys.queue, keys.timeout, keys.token}, {}});
  const Replies& items = reply.as_array(k_places);

  Snapshot snapshot;
  snapshot.name = name;
  snapshot.time_ms = to_time(items[k_now].as_text()).value_or(0);
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
  const Parties known = parse_info(items[k_info].as_array());
  std::unordered_map<std::string, double> deadlines;
  const Replies& scores = items[k_scores].as_array();
  for (std::size_t i = 0; i + 1 < scores.size(); i += 2) {
    const double score = std::strtod(scores[i + 1].as_text().c_str(), nullptr);
    snapshot.scores.emplace_back(scores[i].as_text(), score);
    deadlines.emplace(scores[i].as_text(), score);
  }
  for (const redis::Reply& member : items[k_queue].as_array()) {
    snapshot.queue.push_back(member.as_text());
    Waiter waiter;
    static_cast<Party&>(waiter) = party_of(known, member.as_text());
    if (const auto found = deadlines.find(waiter.owner); found != deadlines.end()) {
      waiter.deadline_ms = to_time(found->second);
    }
    snapshot.waiters.push_back(std::move(waiter));
  }
  snapshot.kind = find_kind(type, snapshot);
  for (const auto& [field, value] : snapshot.hash) {
    if (snapshot.kind == Snapshot::Kind::read_write && field == "mode") continue;
    snapshot.holders.push_back(make_holder(known, snapshot.kind, field, value));
  }
  if (snapshot.kind == Snapshot::Kind::simple && !content.empty()) {
    snapshot.holders.push_back(make_holder(known, snapshot.kind, content[0].as_text(), "1"));
  }
  find_problems(snapshot, items);
  return snapshot;
}

}  // namespace rlock::lock
