#include "cli/output/party_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
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

constexpr char k_unknown = '-';
const std::string k_before_owner = "    owner ";

template <typename Row>
struct Field {
  Column column;
  std::function<std::string(const Row&)> cell;  // empty if it is not known
};

template <typename Row>
using Fields = std::vector<Field<Row>>;

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

template <typename Row>
void add_about(Fields<Row>& fields) {
  const auto add_text = [&](const char* title, std::string lock::About::*member) {
    const auto cell = [member](const Row& row) {
      return row.about ? escape_for_terminal((*row.about).*member) : std::string();
    };
    fields.push_back({{title, Column::Align::left, Column::Width::flexible}, cell});
  };
  const auto pid = [](const Row& row) {
    return row.about && row.about->pid != 0 ? std::to_string(row.about->pid) : std::string();
  };
  add_text("HOST", &lock::About::host);
  fields.push_back({{"PID", Column::Align::right}, pid});
  add_text("PROGRAM", &lock::About::command);
  add_text("USER", &lock::About::user);
  add_text("NOTE", &lock::About::note);
}

// Returns the fields that are known of at least one row.
template <typename Row>
Fields<Row> known_fields(const Fields<Row>& fields, const std::vector<Row>& rows) {
  Fields<Row> known;
  for (const Field<Row>& field : fields) {
    const auto is_known = [&](const Row& row) { return !field.cell(row).empty(); };
    if (std::ranges::any_of(rows, is_known)) known.push_back(field);
  }
  return known;
}

template <typename Row>
Table make_table(const Fields<Row>& fields, const std::vector<Row>& rows) {
  std::vector<Column> columns;
  for (const Field<Row>& field : fields) columns.push_back(field.column);
  Table table(columns);
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    cells.reserve(fields.size());
    for (const Field<Row>& field : fields) {
      std::string cell = field.cell(row);
      cells.push_back(cell.empty() ? std::string(1, k_unknown) : std::move(cell));
    }
    table.add_row(std::move(cells));
  }
  return table;
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
std::string lay_out(const Fields<Row>& all, const std::vector<Row>& rows, Room room) {
  Fields<Row> fields = known_fields(all, rows);
  const Fields<Row> without_owner = fields;
  fields.push_back({{"OWNER"}, [](const Row& row) { return escape_for_terminal(row.owner); }});
  std::string whole = make_table(fields, rows).to_text(std::nullopt);
  if (!room || widest_line(whole) <= *room) return whole;
  return with_owners_below(make_table(without_owner, rows).to_text(room), rows, *room);
}

}  // namespace

std::string holders_table(const Snapshot& snapshot, Room room) {
  Fields<Holder> fields;
  add_about(fields);
  fields.push_back({{"MODE"}, mode_cell});
  fields.push_back({{"COUNT", Column::Align::right},
                    [](const Holder& holder) { return std::to_string(holder.count); }});
  fields.push_back({{"HELD FOR", Column::Align::right},
                    [&](const Holder& holder) { return since(snapshot, holder); }});
  fields.push_back({{"EXPIRES"}, [&](const Holder& holder) {
                      return snapshot.permits ? describe_time(snapshot, holder.ends_ms) : "";
                    }});
  return lay_out(fields, snapshot.holders, room);
}

std::string waiters_table(const Snapshot& snapshot, Room room) {
  Fields<Waiter> fields;
  const Waiter* first = snapshot.waiters.data();
  fields.push_back({{"#", Column::Align::right},
                    [=](const Waiter& waiter) { return std::to_string(&waiter - first + 1); }});
  add_about(fields);
  fields.push_back({{"WAITING", Column::Align::right},
                    [&](const Waiter& waiter) { return since(snapshot, waiter); }});
  fields.push_back({{"DEADLINE"}, [&](const Waiter& waiter) {
                      return describe_time(snapshot, waiter.deadline_ms);
                    }});
  fields.push_back({{"STATE"}, [](const Waiter& waiter) {
                      return !waiter.alive ? "?" : *waiter.alive ? "alive" : "dead";
                    }});
  return lay_out(fields, snapshot.waiters, room);
}

}  // namespace rlock::cli
