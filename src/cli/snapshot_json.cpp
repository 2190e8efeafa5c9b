#include "cli/snapshot_json.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/escape.hpp"

namespace rlock::cli {
namespace {

using Json = nlohmann::ordered_json;
using lock::Holder;
using lock::Snapshot;

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

const char* mode_name(Holder::Mode mode) {
  switch (mode) {
    case Holder::Mode::read:
      return "read";
    case Holder::Mode::write:
      return "write";
    case Holder::Mode::exclusive:
      break;
  }
  return "exclusive";
}

void add_about(Json& json, const lock::Party& party) {
  const auto text = [&](std::string lock::About::*member) {
    return party.about && !((*party.about).*member).empty() ? Json(to_utf8((*party.about).*member))
                                                            : Json(nullptr);
  };
  json["host"] = text(&lock::About::host);
  json["user"] = text(&lock::About::user);
  json["command"] = text(&lock::About::command);
  json["pid"] = party.about && party.about->pid != 0 ? Json(party.about->pid) : Json(nullptr);
  json["since_ms"] = or_null(party.since_ms);
  json["note"] = text(&lock::About::note);
}

Json holders_json(const Snapshot& snapshot) {
  Json list = Json::array();
  for (const Holder& holder : snapshot.holders) {
    Json json;
    json["owner"] = to_utf8(holder.owner);
    json["count"] = holder.count;
    json["mode"] = mode_name(holder.mode);
    add_about(json, holder);
    list.push_back(std::move(json));
  }
  return list;
}

Json waiters_json(const Snapshot& snapshot) {
  Json list = Json::array();
  for (const lock::Waiter& waiter : snapshot.waiters) {
    Json json;
    json["position"] = list.size() + 1;
    json["owner"] = to_utf8(waiter.owner);
    json["deadline_ms"] = or_null(waiter.deadline_ms);
    json["expires_in_ms"] =
        waiter.deadline_ms ? Json(*waiter.deadline_ms - snapshot.time_ms) : Json(nullptr);
    json["alive"] = or_null(waiter.alive);
    add_about(json, waiter);
    list.push_back(std::move(json));
  }
  return list;
}

Json raw_json(const Snapshot& snapshot) {
  Json raw;
  raw["hash"] = Json::object();
  for (const auto& [field, value] : snapshot.hash) raw["hash"][to_utf8(field)] = to_utf8(value);
  raw["queue"] = Json::array();
  for (const std::string& member : snapshot.queue) raw["queue"].push_back(to_utf8(member));
  raw["zset"] = Json::array();
  for (const auto& [member, score] : snapshot.scores) {
    // JSON has no infinity.
    Json number = is_whole(score) ? Json(static_cast<std::int64_t>(score)) : Json(score);
    raw["zset"].push_back({{"member", to_utf8(member)}, {"score", std::move(number)}});
  }
  return raw;
}

}  // namespace

bool is_whole(double score) { return std::abs(score) < 9e15 && std::trunc(score) == score; }

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
    case Snapshot::Kind::unknown:
      return "unknown";
    case Snapshot::Kind::none:
      break;
  }
  return "";
}

std::string to_json(const Snapshot& snapshot, const std::string& server) {
  Json json;
  json["name"] = to_utf8(snapshot.name);
  json["server"] = to_utf8(server);
  json["time_ms"] = snapshot.time_ms;
  json["state"] = snapshot.held ? "held" : "free";
  const std::string kind = kind_name(snapshot.kind);
  json["kind"] = kind.empty() ? Json(nullptr) : Json(kind);
  json["ttl_ms"] = or_null(snapshot.ttl_ms);
  json["token"] = or_null(snapshot.token);
  json["holders"] = holders_json(snapshot);
  json["waiters"] = waiters_json(snapshot);
  json["raw"] = raw_json(snapshot);
  json["problems"] = Json::array();
  for (const lock::Problem& problem : snapshot.problems) {
    json["problems"].push_back(
        {{"code", problem.code}, {"detail", to_utf8(problem.detail)}, {"hint", problem.hint}});
  }
  return json.dump();
}

}  // namespace rlock::cli
