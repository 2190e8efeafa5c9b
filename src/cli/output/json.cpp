#include "cli/output/json.hpp"

#include "base/escape.hpp"
#include "cli/output/view_text.hpp"

namespace rlock::cli {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(to_utf8(text));
}

Json number_or_null(std::int64_t number) { return number != 0 ? Json(number) : Json(nullptr); }

std::string to_line(const Json& json) { return escape_as_codes(json.dump()) + "\n"; }

Json permits_json(const lock::Snapshot::Permits& permits) {
  return {{"total", permits.total}, {"available", permits.available}};
}

void add_role(Json& json, const std::optional<lock::Replication>& replication) {
  const bool is_replica = replication && replication->master;
  json["role"] = replication ? Json(is_replica ? "replica" : "master") : Json(nullptr);
  json["replica_of"] = text_or_null(is_replica ? describe_address(*replication->master) : "");
  json["data_age_ms"] =
      is_replica && replication->age ? Json(replication->age->count()) : Json(nullptr);
}

Json problems_json(const std::vector<ProblemText>& problems) {
  Json list = Json::array();
  for (const ProblemText& problem : problems) {
    list.push_back({{"code", problem.code},
                    {"detail", to_utf8(problem.detail)},
                    {"hint", to_utf8(problem.hint.text)}});
  }
  return list;
}

void add_party(Json& json, const lock::Party& party) {
  const lock::About& about = party.about;
  json["owner"] = text_or_null(party.owner);
  json["host"] = text_or_null(about.host);
  json["pid"] = number_or_null(about.pid);
  json["command"] = text_or_null(about.command);
  json["user"] = text_or_null(about.user);
}

}  // namespace rlock::cli
