#include "cli/output/snapshot_json.hpp"

#include <unordered_map>
#include <utility>

#include "base/escape.hpp"
#include "cli/output/json_writer.hpp"
#include "lock/words/kind.hpp"

namespace rlock::cli {
namespace {

using lock::Holder;
using lock::Snapshot;

// Returns nothing for 0, which means that nothing is known.
std::optional<std::int64_t> unless_zero(std::int64_t number) {
  return number == 0 ? std::nullopt : std::optional(number);
}

void write_about(JsonWriter& json, const lock::Party& party) {
  static const lock::About k_unknown;
  const lock::About& about = party.about ? *party.about : k_unknown;
  json.text_or_null("host", about.host);
  json.text_or_null("user", about.user);
  json.text_or_null("command", about.command);
  json.number_or_null("pid", unless_zero(about.pid));
  json.number_or_null("since_ms", party.since_ms);
  json.text_or_null("note", about.note);
}

// Writes the rest of `end_ms`, a time of the server's clock.
void write_expiry(JsonWriter& json, const Snapshot& snapshot,
                  const std::optional<std::int64_t>& end_ms) {
  json.number_or_null("expires_in_ms",
                      end_ms ? std::optional(*end_ms - snapshot.time_ms) : std::nullopt);
}

void write_holders(JsonWriter& json, const Snapshot& snapshot) {
  json.begin_array();
  for (const Holder& holder : snapshot.holders) {
    json.begin_object();
    json.text("owner", holder.owner);
    json.number("count", holder.count);
    json.text("mode", lock::mode_name(holder.mode));
    if (snapshot.permits) write_expiry(json, snapshot, holder.ends_ms);
    write_about(json, holder);
    json.number_or_null("kept_until_ms",
                        unless_zero(holder.about ? holder.about->kept_until_ms : 0));
    json.end_object();
  }
  json.end_array();
}

void write_waiters(JsonWriter& json, const Snapshot& snapshot) {
  json.begin_array();
  std::int64_t position = 0;
  for (const lock::Waiter& waiter : snapshot.waiters) {
    json.begin_object();
    json.number("position", ++position);
    json.text("owner", waiter.owner);
    json.number_or_null("deadline_ms", waiter.deadline_ms);
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
    json.text("member", member);
    json.number("score", score);
    json.end_object();
  }
  json.end_array();
}

void write_permits(JsonWriter& json, const Snapshot::Permits& permits) {
  json.begin_object();
  json.number("total", permits.total);
  json.number("available", permits.available);
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
    json.text("code", problem.code);
    json.text("detail", problem.detail);
    json.text("hint", problem.hint.text);
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
  json.text("name", snapshot.name);
  json.text("server", server);
  json.number("time_ms", snapshot.time_ms);
  json.text("state", snapshot.held ? "held" : "free");
  json.text_or_null("kind", kind_name(snapshot.kind));
  json.number_or_null("ttl_ms", snapshot.ttl_ms);
  json.number_or_null("token", snapshot.token);
  json.key("holders");
  write_holders(json, snapshot);
  json.key("waiters");
  write_waiters(json, snapshot);
  json.number_or_null("listening", snapshot.listening);
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
