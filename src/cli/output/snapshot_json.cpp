#include "cli/output/snapshot_json.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/escape.hpp"
#include "cli/output/json_writer.hpp"
#include "cli/output/view_text.hpp"

namespace rlock::cli {
namespace {

using lock::Holder;
using lock::Snapshot;

// Return nothing for 0 and for "", which mean that nothing is known.
std::optional<std::int64_t> known(std::int64_t number) {
  return number == 0 ? std::nullopt : std::optional(number);
}

std::optional<std::string_view> known(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void write_about(JsonWriter& json, const lock::Party& party) {
  const lock::About& about = party.about;
  json.member("host", known(about.host));
  json.member("user", known(about.user));
  json.member("command", known(about.command));
  json.member("pid", known(about.pid));
  json.member("since_ms", party.since_ms);
  json.member("note", known(about.note));
}

// Returns how long a permit lasts, 0 if it has ended; as for a lock, -1 means no expiry.
std::int64_t ttl_of(const Snapshot& snapshot, const Holder& holder) {
  if (!holder.ends_ms) return -1;
  return std::max<std::int64_t>(*holder.ends_ms - snapshot.time_ms, 0);
}

void write_holders(JsonWriter& json, const Snapshot& snapshot) {
  json.objects("holders", snapshot.holders, [&](const Holder& holder) {
    json.member("owner", holder.owner);
    json.member("count", holder.count);
    json.member("mode", lock::mode_name(holder.mode));
    if (snapshot.permits) json.member("ttl_ms", ttl_of(snapshot, holder));
    write_about(json, holder);
    json.member("kept_until_ms", known(holder.about.kept_until_ms));
  });
}

void write_waiters(JsonWriter& json, const Snapshot& snapshot) {
  std::size_t position = 0;
  json.objects("waiters", snapshot.waiters, [&](const lock::Waiter& waiter) {
    json.member("position", ++position);
    json.member("owner", waiter.owner);
    json.member("deadline_ms", waiter.deadline_ms);
    json.member("expires_in_ms", waiter.deadline_ms
                                     ? std::optional(*waiter.deadline_ms - snapshot.time_ms)
                                     : std::nullopt);
    json.member("alive", waiter.alive);
    write_about(json, waiter);
  });
}

// Two fields can be one as UTF-8; then the last counts, in the place of the first.
void write_hash(JsonWriter& json, const Snapshot& snapshot) {
  std::vector<std::pair<std::string, const std::string*>> fields;
  std::unordered_map<std::string, std::size_t> places;
  for (const auto& [field, value] : snapshot.hash) {
    std::string name = to_utf8(field);
    const auto [found, is_new] = places.emplace(name, fields.size());
    if (is_new) {
      fields.emplace_back(std::move(name), &value);
    } else {
      fields[found->second].second = &value;
    }
  }
  json.key("hash");
  json.begin('{');
  for (const auto& [name, value] : fields) json.member(name, *value);
  json.end('}');
}

void write_scores(JsonWriter& json, const char* key,
                  const std::vector<std::pair<std::string, double>>& scores) {
  json.objects(key, scores, [&](const auto& score) {
    json.member("member", score.first);
    json.member("score", score.second);
  });
}

void write_raw(JsonWriter& json, const Snapshot& snapshot) {
  json.key("raw");
  json.begin('{');
  write_hash(json, snapshot);
  json.key("queue");
  json.begin('[');
  for (const std::string& member : snapshot.queue) json.value(member);
  json.end(']');
  write_scores(json, "zset", snapshot.scores);
  if (snapshot.permits) write_scores(json, "permit_zset", snapshot.permits->ends);
  json.end('}');
}

void write_problems(JsonWriter& json, const char* key, const std::vector<ProblemText>& problems) {
  json.objects(key, problems, [&](const ProblemText& problem) {
    json.member("code", problem.code);
    json.member("detail", problem.detail);
    json.member("hint", problem.hint.text);
  });
}

}  // namespace

std::string kind_name(const Snapshot& snapshot) {
  if (snapshot.is_unknown) return "unknown";
  if (snapshot.is(lock::Shape::sides)) return "read-write";
  return snapshot.kind ? lock::traits_of(*snapshot.kind).name : "";
}

std::string to_json(const Snapshot& snapshot, const std::string& server,
                    const std::vector<ProblemText>& problems,
                    const std::vector<ProblemText>& notes) {
  JsonWriter json;
  json.reserve(1024 + 400 * snapshot.waiters.size());
  json.begin('{');
  json.member("name", snapshot.name);
  json.member("server", server);
  json.member("time_ms", snapshot.time_ms);
  json.member("state", state_name(snapshot));
  json.member("kind", known(kind_name(snapshot)));
  json.member("ttl_ms", snapshot.ttl_ms);
  json.member("token", snapshot.token);
  write_holders(json, snapshot);
  write_waiters(json, snapshot);
  json.member("listening", snapshot.listening);
  if (snapshot.listening_clients) {
    json.objects("listening_clients", *snapshot.listening_clients, [&](const auto& client) {
      json.member("host", client.host);
      json.member("pid", std::int64_t{client.pid});
    });
  }
  if (snapshot.permits) {
    json.key("permits");
    json.begin('{');
    json.member("total", snapshot.permits->total);
    json.member("available", snapshot.permits->available);
    json.end('}');
  }
  write_raw(json, snapshot);
  write_problems(json, "problems", problems);
  json.member("certain", snapshot.is_certain());
  write_problems(json, "notes", notes);
  const auto& replication = snapshot.replication;
  const bool is_replica = replication && replication->master;
  json.member("role", known(!replication ? "" : is_replica ? "replica" : "master"));
  json.member("replica_of", known(is_replica ? describe_address(*replication->master) : ""));
  json.member("data_age_ms", is_replica && replication->age
                                 ? std::optional(replication->age->count())
                                 : std::nullopt);
  json.end('}');
  return json.take();
}

}  // namespace rlock::cli
