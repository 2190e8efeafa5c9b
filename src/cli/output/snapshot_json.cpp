#include "cli/output/snapshot_json.hpp"

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "cli/output/json_writer.hpp"
#include "lock/words/kind.hpp"

namespace rlock::cli {
namespace {

using lock::Holder;
using lock::Snapshot;

void write_text(JsonWriter& json, std::string_view key, const std::string* text) {
  json.key(key);
  if (text != nullptr && !text->empty()) {
    json.text(*text);
  } else {
    json.null();
  }
}

void write_about(JsonWriter& json, const lock::Party& party) {
  const lock::About* about = party.about ? &*party.about : nullptr;
  write_text(json, "host", about != nullptr ? &about->host : nullptr);
  write_text(json, "user", about != nullptr ? &about->user : nullptr);
  write_text(json, "command", about != nullptr ? &about->command : nullptr);
  json.key("pid");
  if (about != nullptr && about->pid != 0) {
    json.number(std::int64_t{about->pid});
  } else {
    json.null();
  }
  json.key("since_ms");
  json.number_or_null(party.since_ms);
  write_text(json, "note", about != nullptr ? &about->note : nullptr);
}

// Writes the rest of `end_ms`, a time of the server's clock.
void write_expiry(JsonWriter& json, const Snapshot& snapshot,
                  const std::optional<std::int64_t>& end_ms) {
  json.key("expires_in_ms");
  json.number_or_null(end_ms ? std::optional(*end_ms - snapshot.time_ms) : std::nullopt);
}

void write_holders(JsonWriter& json, const Snapshot& snapshot) {
  json.begin_array();
  for (const Holder& holder : snapshot.holders) {
    json.begin_object();
    json.key("owner");
    json.text(holder.owner);
    json.key("count");
    json.number(holder.count);
    json.key("mode");
    json.text(lock::mode_name(holder.mode));
    if (snapshot.permits) write_expiry(json, snapshot, holder.ends_ms);
    write_about(json, holder);
    const std::int64_t kept_until = holder.about ? holder.about->kept_until_ms : 0;
    json.key("kept_until_ms");
    json.number_or_null(kept_until != 0 ? std::optional(kept_until) : std::nullopt);
    json.end_object();
  }
  json.end_array();
}

void write_waiters(JsonWriter& json, const Snapshot& snapshot) {
  json.begin_array();
  std::int64_t position = 0;
  for (const lock::Waiter& waiter : snapshot.waiters) {
    json.begin_object();
    json.key("position");
    json.number(++position);
    json.key("owner");
    json.text(waiter.owner);
    json.key("deadline_ms");
    json.number_or_null(waiter.deadline_ms);
    write_expiry(json, snapshot, waiter.deadline_ms);
    json.key("alive");
    if (waiter.alive) {
      json.boolean(*waiter.alive);
    } else {
      json.null();
    }
    write_about(json, waiter);
    json.end_object();
  }
  json.end_array();
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
  json.begin_object();
  for (const auto& [name, value] : fields) {
    json.name(name);
    json.text(*value);
  }
  json.end_object();
}

void write_scores(JsonWriter& json, const std::vector<std::pair<std::string, double>>& scores) {
  json.begin_array();
  for (const auto& [member, score] : scores) {
    json.begin_object();
    json.key("member");
    json.text(member);
    json.key("score");
    json.number(score);
    json.end_object();
  }
  json.end_array();
}

void write_permits(JsonWriter& json, const Snapshot::Permits& permits) {
  json.begin_object();
  json.key("total");
  json.number(permits.total);
  json.key("available");
  json.number(permits.available);
  json.end_object();
}

void write_raw(JsonWriter& json, const Snapshot& snapshot) {
  json.begin_object();
  json.key("hash");
  write_hash(json, snapshot);
  json.key("queue");
  json.begin_array();
  for (const std::string& member : snapshot.queue) json.text(member);
  json.end_array();
  json.key("zset");
  write_scores(json, snapshot.scores);
  if (snapshot.permits) {
    json.key("permits");
    write_scores(json, snapshot.permits->ends);
  }
  json.end_object();
}

void write_problems(JsonWriter& json, const std::vector<ProblemText>& problems) {
  json.begin_array();
  for (const ProblemText& problem : problems) {
    json.begin_object();
    json.key("code");
    json.text(problem.code);
    json.key("detail");
    json.text(problem.detail);
    json.key("hint");
    json.text(problem.hint.text);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string kind_name(Snapshot::Kind kind) {
  switch (kind) {
    case Snapshot::Kind::reentrant:
      return "reentrant";
    case Snapshot::Kind::fair:
      return "fair";
    case Snapshot::Kind::read_write:
      return "read-write";
    case Snapshot::Kind::simple:
      return "simple";
    case Snapshot::Kind::semaphore:
      return "semaphore";
    case Snapshot::Kind::unknown:
      return "unknown";
    case Snapshot::Kind::none:
      break;
  }
  return "";
}

std::string to_json(const Snapshot& snapshot, const std::string& server,
                    const std::vector<ProblemText>& problems) {
  JsonWriter json;
  json.reserve(1024 + 400 * snapshot.waiters.size());
  json.begin_object();
  json.key("name");
  json.text(snapshot.name);
  json.key("server");
  json.text(server);
  json.key("time_ms");
  json.number(snapshot.time_ms);
  json.key("state");
  json.text(snapshot.held ? "held" : "free");
  const std::string kind = kind_name(snapshot.kind);
  write_text(json, "kind", &kind);
  json.key("ttl_ms");
  json.number_or_null(snapshot.ttl_ms);
  json.key("token");
  json.number_or_null(snapshot.token);
  json.key("holders");
  write_holders(json, snapshot);
  json.key("waiters");
  write_waiters(json, snapshot);
  json.key("listening");
  json.number_or_null(snapshot.listening
                          ? std::optional(static_cast<std::int64_t>(*snapshot.listening))
                          : std::nullopt);
  if (snapshot.permits) {
    json.key("permits");
    write_permits(json, *snapshot.permits);
  }
  json.key("raw");
  write_raw(json, snapshot);
  json.key("problems");
  write_problems(json, problems);
  json.end_object();
  return json.take();
}

}  // namespace rlock::cli
