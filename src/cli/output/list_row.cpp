#include "cli/output/list_row.hpp"

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/words.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/json.hpp"
#include "cli/output/snapshot_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/view_text.hpp"

namespace rlock::cli {
namespace {

using lock::Snapshot;

std::string describe_kind(const Snapshot& snapshot) {
  const std::string kind = kind_name(snapshot);
  return kind.empty() ? "-" : kind + (snapshot.ambiguity != lock::Ambiguity::none ? "?" : "");
}

std::string state_cell(const Snapshot& snapshot) {
  std::string state = state_name(snapshot);
  if (!snapshot.permits || snapshot.is_stale()) return state;
  // In few words: names and holders need the room.
  return state + ", " + std::to_string(snapshot.permits->available) + " of " +
         std::to_string(snapshot.permits->total) + " left";
}

std::string describe_ttl(const Snapshot& snapshot) {
  if (!snapshot.ttl_ms) return "-";
  return *snapshot.ttl_ms < 0 ? "never" : format_duration(Milliseconds(*snapshot.ttl_ms));
}

std::string describe_holders(const Snapshot& snapshot) {
  if (snapshot.holders.empty()) return "-";
  const lock::Party& first = snapshot.holders.front();
  std::string text =
      describe_kept(first.owner, first.about).value_or(describe_holder(first.owner, first.about));
  const std::size_t others = snapshot.holders.size() - 1;
  return others > 0 ? text + " +" + std::to_string(others) + " more" : text;
}

// Returns such as "499 (all dead)".
std::string waiters_cell(const Snapshot& snapshot) {
  const auto waiters = snapshot.waiting();
  if (!waiters) return "-";
  const std::size_t dead = snapshot.dead_waiters();
  std::string count = std::to_string(*waiters);
  if (dead == 0) return count;
  return count + (dead == *waiters ? " (all dead)" : " (" + std::to_string(dead) + " dead)");
}

std::vector<std::string> codes_of(const std::vector<lock::Problem>& problems) {
  std::vector<std::string> codes;
  codes.reserve(problems.size());
  for (const lock::Problem& problem : problems) codes.push_back(lock::code_of(problem));
  return codes;
}

}  // namespace

std::vector<std::string> list_cells(const Snapshot& snapshot, const Paint& paint) {
  return {escape_for_terminal(snapshot.name),
          describe_kind(snapshot),
          paint(snapshot.held         ? Tone::busy
                : snapshot.is_stale() ? Tone::bad
                                      : Tone::good,
                state_cell(snapshot)),
          describe_ttl(snapshot),
          describe_holders(snapshot),
          waiters_cell(snapshot),
          paint(Tone::bad, join(codes_of(snapshot.problems), ","))};
}

std::string list_table(const ListRows& rows, std::optional<std::size_t> room) {
  Table table({{"NAME", Column::Align::left, Column::Width::flexible},
               {"KIND"},
               {"STATE"},
               {"TTL", Column::Align::right},
               {"HOLDER", Column::Align::left, Column::Width::flexible},
               {"WAITERS", Column::Align::right},
               {"PROBLEMS", Column::Align::left, Column::Width::flexible}});
  bool have_problems = false;
  for (const auto& [name, cells] : rows) {
    have_problems = have_problems || !cells.back().empty();
    table.add_row(cells);
  }
  if (!have_problems) table.drop_last_column();
  return table.to_text(room);
}

std::string list_json(const Snapshot& snapshot, const std::vector<ProblemText>& problems) {
  const lock::Party holder =
      snapshot.holders.empty() ? lock::Party{} : lock::Party(snapshot.holders.front());
  Json json;
  json["name"] = to_utf8(snapshot.name);
  json["kind"] = text_or_null(kind_name(snapshot));
  json["state"] = state_name(snapshot);
  json["ttl_ms"] = value_or_null(snapshot.ttl_ms);
  json["holder_count"] = snapshot.holders.size();
  json["waiter_count"] = value_or_null(snapshot.waiting());
  add_party(json, holder);
  json["since_ms"] = value_or_null(holder.since_ms);
  json["note"] = text_or_null(holder.about.note);
  json["kept_until_ms"] = number_or_null(holder.about.kept_until_ms);
  json["listening"] = value_or_null(snapshot.listening);
  if (snapshot.permits) json["permits"] = permits_json(*snapshot.permits);
  json["problems"] = problems_json(problems);
  json["unknown_waiter_count"] =
      snapshot.unknown_waiters ? snapshot.unknown_waiters->waiters.count : 0;
  add_role(json, snapshot.replication);
  json["certain"] = snapshot.is_certain();
  return to_line(json);
}

}  // namespace rlock::cli
