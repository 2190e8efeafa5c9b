#include "cli/output/party_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/text_width.hpp"
#include "cli/output/table.hpp"

namespace rlock::cli {
namespace {

using lock::Holder;
using lock::Party;
using lock::Snapshot;
using lock::Waiter;
using Room = std::optional<std::size_t>;

const std::string k_unknown = "-";
const std::string k_before_owner = "    owner ";

std::string since(const Snapshot& snapshot, const Party& party) {
  if (!party.since_ms || *party.since_ms > snapshot.time_ms) return "";
  return format_duration(Milliseconds(snapshot.time_ms - *party.since_ms));
}

std::string describe_time(const Snapshot& snapshot, const std::optional<std::int64_t>& time_ms) {
  if (!time_ms) return "none";
  const std::int64_t left = *time_ms - snapshot.time_ms;
  std::string text = left > 0 ? "in " : "passed ";
  text += format_duration(Milliseconds(std::abs(left)));
  return left > 0 ? text : text + " ago";
}

std::string mode_cell(const Holder& holder) {
  return holder.mode == Holder::Mode::exclusive ? "" : lock::mode_name(holder.mode);
}

// Adds a column with the cell of each row, which is empty if it is not known. Adds none if no cell
// is known.
template <typename Row, typename Cell>
void add(Table& table, const std::vector<Row>& rows, Column column, const Cell& cell) {
  std::vector<std::string> cells;
  cells.reserve(rows.size());
  for (const Row& row : rows) cells.push_back(cell(row));
  const auto is_empty = [](const std::string& text) { return text.empty(); };
  if (std::ranges::all_of(cells, is_empty)) return;
  std::ranges::replace_if(cells, is_empty, k_unknown);
  table.add_column(std::move(column), std::move(cells));
}

template <typename Row>
void add_about(Table& table, const std::vector<Row>& rows) {
  const auto add_text = [&](const char* title, std::string lock::About::*member) {
    add(table, rows, {title, Column::Align::left, Column::Width::flexible}, [&](const Row& row) {
      return row.about ? escape_for_terminal((*row.about).*member) : std::string();
    });
  };
  add_text("HOST", &lock::About::host);
  add(table, rows, {"PID", Column::Align::right}, [](const Row& row) {
    return row.about && row.about->pid != 0 ? std::to_string(row.about->pid) : std::string();
  });
  add_text("PROGRAM", &lock::About::command);
  add_text("USER", &lock::About::user);
  add_text("NOTE", &lock::About::note);
}

std::size_t widest_line(std::string_view text) {
  std::size_t widest = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    widest = std::max(widest, display_width(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  return widest;
}

// Returns the table with each row's owner on a line of its own, below it.
template <typename Row>
std::string with_owners_below(std::string_view table, const std::vector<Row>& rows,
                              std::size_t room) {
  std::string text;
  const auto add_line = [&] {
    const std::size_t end = table.find('\n') + 1;
    text += table.substr(0, end);
    table.remove_prefix(end);
  };
  add_line();
  for (const Row& row : rows) {
    add_line();
    text += fit(k_before_owner + escape_for_terminal(row.owner), room) + "\n";
  }
  return text;
}

template <typename Row>
std::string lay_out(Table table, const std::vector<Row>& rows, Room room) {
  add(table, rows, {"OWNER"}, [](const Row& row) {
    return row.owner.empty() ? k_unknown : escape_for_terminal(row.owner);
  });
  std::string whole = table.to_text(std::nullopt);
  if (!room || widest_line(whole) <= *room) return whole;
  table.drop_last_column();
  return with_owners_below(table.to_text(room), rows, *room);
}

}  // namespace

std::string holders_table(const Snapshot& snapshot, Room room) {
  const std::vector<Holder>& holders = snapshot.holders;
  Table table;
  add_about(table, holders);
  add(table, holders, {"MODE"}, mode_cell);
  add(table, holders, {"COUNT", Column::Align::right},
      [](const Holder& holder) { return std::to_string(holder.count); });
  add(table, holders, {"HELD FOR", Column::Align::right},
      [&](const Holder& holder) { return since(snapshot, holder); });
  if (snapshot.permits) {
    add(table, holders, {"EXPIRES"},
        [&](const Holder& holder) { return describe_time(snapshot, holder.ends_ms); });
  }
  return lay_out(std::move(table), holders, room);
}

std::string waiters_table(const Snapshot& snapshot, Room room) {
  const std::vector<Waiter>& waiters = snapshot.waiters;
  Table table;
  add(table, waiters, {"#", Column::Align::right},
      [&](const Waiter& waiter) { return std::to_string(&waiter - waiters.data() + 1); });
  add_about(table, waiters);
  add(table, waiters, {"WAITING", Column::Align::right},
      [&](const Waiter& waiter) { return since(snapshot, waiter); });
  add(table, waiters, {"DEADLINE"},
      [&](const Waiter& waiter) { return describe_time(snapshot, waiter.deadline_ms); });
  add(table, waiters, {"STATE"}, [](const Waiter& waiter) -> std::string {
    return !waiter.alive ? "?" : *waiter.alive ? "alive" : "dead";
  });
  return lay_out(std::move(table), waiters, room);
}

}  // namespace rlock::cli
