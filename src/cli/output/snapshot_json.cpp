#include "cli/output/snapshot_json.hpp"

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "cli/output/json.hpp"
#include "cli/output/snapshot_text.hpp"
#include "lock/words/kind.hpp"

namespace rlock::cli {
namespace {

using lock::Holder;
using lock::Snapshot;

void add_about(Json& json, const lock::Party& party) {
  const lock::About about = party.about.value_or(lock::About{});
  json["host"] = text_or_null(about.host);
  json["user"] = text_or_null(about.user);
  json["command"] = text_or_null(about.command);
  json["pid"] = number_or_null(about.pid);
  json["since_ms"] = value_or_null(party.since_ms);
  json["note"] = text_or_null(about.note);
}

// Returns the rest of `end_ms`, a time of the server's clock.
Json rest_of(const std::optional<std::int64_t>& end_ms, const Snapshot& snapshot) {
  return end_ms ? Json(*end_ms - snapshot.time_ms) : Json(nullptr);
}

Json to_json(const Holder& holder, const Snapshot& snapshot) {
  Json json{{"owner", to_utf8(holder.owner)},
            {"count", holder.count},
            {"mode", lock::mode_name(holder.mode)}};
  if (snapshot.permits) json["expires_in_ms"] = rest_of(holder.ends_ms, snapshot);
  add_about(json, holder);
  json["kept_until_ms"] = number_or_null(holder.about ? holder.about->kept_until_ms : 0);
  return json;
}

Json to_json(const lock::Waiter& waiter, std::size_t position, const Snapshot& snapshot) {
  Json json{{"position", position},
            {"owner", to_utf8(waiter.owner)},
            {"deadline_ms", value_or_null(waiter.deadline_ms)},
            {"expires_in_ms", rest_of(waiter.deadline_ms, snapshot)},
            {"alive", value_or_null(waiter.alive)}};
  add_about(json, waiter);
  return json;
}

// Two fields can be one as UTF-8; then the last counts, in the place of the first.
Json hash_to_json(const Snapshot& snapshot) {
  Json::object_t members;
  std::unordered_map<std::string, std::size_t> places;  // the members are searched one by one
  for (const auto& [field, value] : snapshot.hash) {
    std::string name = to_utf8(field);
    const auto [found, is_new] = places.emplace(name, members.size());
    if (is_new) {
      members.push_back({std::move(name), to_utf8(value)});
    } else {
      (members.begin() + static_cast<std::ptrdiff_t>(found->second))->second = to_utf8(value);
    }
  }
  return members;
}

Json scores_to_json(const std::vector<std::pair<std::string, double>>& scores) {
  Json json = Json::array();
  for (const auto& [member, score] : scores) {
    json.push_back(
        {{"member", to_utf8(member)},
         {"score", is_whole(score) ? Json(static_cast<std::int64_t>(score)) : Json(score)}});
  }
  return json;
}

Json raw_to_json(const Snapshot& snapshot) {
  Json json{{"hash", hash_to_json(snapshot)}, {"queue", Json::array()}};
  for (const std::string& member : snapshot.queue) json["queue"].push_back(to_utf8(member));
  json["zset"] = scores_to_json(snapshot.scores);
  if (snapshot.permits) json["permits"] = scores_to_json(snapshot.permits->ends);
  return json;
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

std::string to_json(const Snapshot& snapshot, const std::string& server) {
  Json json{{"name", to_utf8(snapshot.name)},
            {"server", to_utf8(server)},
            {"time_ms", snapshot.time_ms},
            {"state", snapshot.held ? "held" : "free"},
            {"kind", text_or_null(kind_name(snapshot.kind))},
            {"ttl_ms", value_or_null(snapshot.ttl_ms)},
            {"token", value_or_null(snapshot.token)},
            {"holders", Json::array()},
            {"waiters", Json::array()}};
  for (const Holder& holder : snapshot.holders) {
    json["holders"].push_back(to_json(holder, snapshot));
  }
  Json& waiters = json["waiters"];
  for (const lock::Waiter& waiter : snapshot.waiters) {
    waiters.push_back(to_json(waiter, waiters.size() + 1, snapshot));
  }
  json["listening"] = value_or_null(snapshot.listening);
  if (snapshot.permits) {
    json["permits"] = {{"total", snapshot.permits->total},
                       {"available", snapshot.permits->available}};
  }
  json["raw"] = raw_to_json(snapshot);
  json["problems"] = Json::array();
  for (const lock::Problem& problem : snapshot.problems) {
    json["problems"].push_back({{"code", problem.code},
                                {"detail", to_utf8(problem.detail)},
                                {"hint", to_utf8(problem.hint)}});
  }
  return json.dump();
}

}  // namespace rlock::cli
