#include "cli/output/list_row.hpp"

#include <algorithm>
#include <utility>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/words.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/json.hpp"
#include "cli/output/snapshot_json.hpp"
#include "cli/output/snapshot_text.hpp"
#include "cli/output/table.hpp"
#include "lock/words/kind.hpp"

namespace rlock::cli {
namespace {

std::string describe_state(const ListRow& row) {
  const std::string state = row.held ? "held" : "free";
  return row.permits ? state + ", " + describe_permits(*row.permits) : state;
}

std::string describe_ttl(const ListRow& row) {
  if (!row.ttl_ms) return "-";
  return *row.ttl_ms < 0 ? "never" : format_duration(Milliseconds(*row.ttl_ms));
}

std::string describe_first_holder(const ListRow& row) {
  if (!row.holder) return "-";
  const lock::About about = row.holder->about.value_or(lock::About{});
  std::string text =
      describe_kept(row.holder->owner, about).value_or(describe_holder(row.holder->owner, about));
  if (row.holders > 1) text += " +" + std::to_string(row.holders - 1) + " more";
  return text;
}

}  // namespace

ListRow::ListRow(const lock::Snapshot& snapshot)
    : name(snapshot.name),
      kind(kind_name(snapshot.kind)),
      held(snapshot.held),
      is_any_string(snapshot.is_any_string),
      ttl_ms(snapshot.ttl_ms),
      holders(snapshot.holders.size()),
      waiters(snapshot.waiting()),
      listening(snapshot.listening) {
  if (snapshot.permits) permits = {snapshot.permits->total, snapshot.permits->available, {}, {}, 0};
  if (!snapshot.holders.empty()) holder = snapshot.holders.front();
  for (const lock::Problem& problem : snapshot.problems) problems.push_back(lock::code_of(problem));
}

std::string to_table(const std::vector<ListRow>& rows, std::optional<std::size_t> room,
                     const Paint& paint) {
  const bool have_problems =
      std::ranges::any_of(rows, [](const ListRow& row) { return !row.problems.empty(); });
  std::vector<Column> columns{{"NAME", Column::Align::left, Column::Width::flexible},
                              {"KIND"},
                              {"STATE"},
                              {"TTL", Column::Align::right},
                              {"HOLDER", Column::Align::left, Column::Width::flexible},
                              {"WAITERS", Column::Align::right}};
  if (have_problems) columns.push_back({"PROBLEMS", Column::Align::left, Column::Width::flexible});
  Table table(std::move(columns));
  for (const ListRow& row : rows) {
    std::vector<std::string> cells{
        escape_for_terminal(row.name),
        row.kind.empty() ? "-" : row.kind + (row.is_any_string ? "?" : ""),
        paint(row.held ? Tone::busy : Tone::good, describe_state(row)),
        describe_ttl(row),
        describe_first_holder(row),
        row.waiters ? std::to_string(*row.waiters) : "-"};
    if (have_problems) cells.push_back(paint(Tone::bad, join(row.problems, ",")));
    table.add_row(std::move(cells));
  }
  return table.to_text(room);
}

std::string to_json(const ListRow& row) {
  const lock::Party holder = row.holder.value_or(lock::Party{});
  const lock::About about = holder.about.value_or(lock::About{});
  Json json;
  json["name"] = to_utf8(row.name);
  json["kind"] = text_or_null(row.kind);
  json["state"] = row.held ? "held" : "free";
  json["ttl_ms"] = value_or_null(row.ttl_ms);
  json["holders"] = row.holders;
  json["waiters"] = row.waiters.value_or(0);
  add_party(json, holder);
  json["since_ms"] = value_or_null(holder.since_ms);
  json["note"] = text_or_null(about.note);
  json["kept_until_ms"] = number_or_null(about.kept_until_ms);
  json["listening"] = value_or_null(row.listening);
  if (row.permits) {
    json["permits"] = {{"total", row.permits->total}, {"available", row.permits->available}};
  }
  json["problems"] = row.problems;
  return json.dump();
}

}  // namespace rlock::cli
