#include "cli/output/snapshot_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>
#include <variant>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/text_width.hpp"
#include "base/wording.hpp"
#include "base/words.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/json_writer.hpp"
#include "cli/output/snapshot_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/view_text.hpp"

namespace rlock::cli {
namespace {

using lock::Holder;
using lock::Snapshot;
using lock::Waiter;
using Room = std::optional<std::size_t>;

constexpr const char* k_unknown = "-";
constexpr const char* k_before_owner = "    owner ";

std::string since(const Snapshot& snapshot, const lock::Party& party) {
  if (!party.since_ms || *party.since_ms > snapshot.time_ms) return "";
  return format_duration(Milliseconds(snapshot.time_ms - *party.since_ms));
}

std::string describe_time(const Snapshot& snapshot, const std::optional<std::int64_t>& time_ms) {
  if (!time_ms) return "none";
  const Milliseconds left(*time_ms - snapshot.time_ms);
  return left.count() > 0 ? "in " + format_duration(left)
                          : "passed " + format_duration(-left) + " ago";
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
    add(table, rows, {title, Column::Align::left, Column::Width::flexible},
        [&](const Row& row) { return escape_for_terminal(row.about.*member); });
  };
  add_text("HOST", &lock::About::host);
  add(table, rows, {"PID", Column::Align::right}, [](const Row& row) {
    return row.about.pid != 0 ? std::to_string(row.about.pid) : std::string();
  });
  add_text("PROGRAM", &lock::About::command);
  add_text("USER", &lock::About::user);
  add_text("NOTE", &lock::About::note);
}

// Returns the table with each row's owner on a line of its own, below it.
template <typename Row>
std::string with_owners_below(std::string_view table, const std::vector<Row>& rows,
                              std::size_t room) {
  const auto lines = split(table, '\n');
  std::string text = std::string(lines[0]) + "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += std::string(lines[i + 1]) + "\n" +
            fit(k_before_owner + escape_for_terminal(rows[i].owner), room) + "\n";
  }
  return text;
}

// Returns a table without the columns of which nothing is known, at most `room` columns wide if
// that is given. People paste the owner: where it finds no room, it stands below the rest, in full.
template <typename Row>
std::string lay_out(Table table, const std::vector<Row>& rows, Room room) {
  add(table, rows, {"OWNER"}, [](const Row& row) {
    return row.owner.empty() ? k_unknown : escape_for_terminal(row.owner);
  });
  std::string whole = table.to_text(std::nullopt);
  const auto fits = [&](std::string_view line) { return display_width(line) <= *room; };
  if (!room || std::ranges::all_of(split(whole, '\n'), fits)) return whole;
  table.drop_last_column();
  return with_owners_below(table.to_text(room), rows, *room);
}

std::string holders_table(const Snapshot& snapshot, Room room) {
  const std::vector<Holder>& holders = snapshot.holders;
  Table table;
  add_about(table, holders);
  add(table, holders, {"MODE"}, [](const Holder& holder) -> std::string {
    return holder.mode == Holder::Mode::exclusive ? "" : lock::mode_name(holder.mode);
  });
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

std::string fit_line(const std::string& line, Room room) {
  return (room ? fit(line, *room) : line) + "\n";
}

std::string describe_state(const Snapshot& snapshot) {
  if (auto other = describe_no_lock(snapshot)) return *std::move(other);
  if (state_name(snapshot) == "unknown") return "unknown, because this replica's data is old";
  const std::string permits = snapshot.permits ? describe_permits(*snapshot.permits) : "";
  if (!snapshot.held) return permits.empty() ? "free" : "free (semaphore), " + permits;
  return if_lock(snapshot.ambiguity) + "held (" + kind_name(snapshot) + "), " +
         (permits.empty() ? "" : permits + ", ") + describe_expiry(snapshot.ttl_ms.value_or(-1));
}

// The state must be seen, so it is the name that is cut.
std::string first_line(const Snapshot& snapshot, Room room) {
  std::string name = escape_for_terminal(snapshot.name);
  const std::string state = describe_state(snapshot);
  if (room && *room > state.size() + 2) name = fit(name, *room - state.size() - 2);
  return fit_line(name + ": " + state, room);
}

std::string describe_waiters(const Snapshot& snapshot) {
  const std::size_t count = snapshot.waiters.size();
  const auto unknown = static_cast<std::size_t>(
      std::ranges::count_if(snapshot.waiters, [](const Waiter& waiter) { return !waiter.alive; }));
  const auto part = [count](std::size_t some, const std::string& state) {
    if (some == 0) return std::string();
    if (some < count) return ", " + std::to_string(some) + " of them " + state;
    return (count == 1 ? ", " : ", all ") + state;
  };
  return plural(count, "waiter") + part(snapshot.dead_waiters(), "dead") +
         part(unknown, "perhaps dead");
}

std::string describe_score(double score) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), is_whole(score) ? "%.0f" : "%g", score);
  return text.data();
}

std::string raw_lines(const Snapshot& snapshot, Room room) {
  std::string text;
  const auto add = [&](const char* what, const std::string& entry) {
    text += fit_line("  " + std::string(what) + entry, room);
  };
  for (const auto& [field, value] : snapshot.hash) {
    add("hash      ", escape_for_terminal(field) + " = " + escape_for_terminal(value));
  }
  for (const std::string& member : snapshot.queue) add("queue     ", escape_for_terminal(member));
  for (const auto& [member, score] : snapshot.scores) {
    add("deadline  ", escape_for_terminal(member) + " " + describe_score(score));
  }
  if (!snapshot.permits) return text;
  for (const auto& [member, score] : snapshot.permits->ends) {
    add("permit    ", escape_for_terminal(member) + " " + describe_score(score));
  }
  return text;
}

std::string describe(const ProblemText& problem, Room room) {
  const std::string detail = problem.code + ": " + escape_for_terminal(problem.detail);
  // A command must stay whole where it is copied from: the terminal breaks it where it ends.
  const bool is_command = problem.hint.kind == Hint::Kind::command;
  const std::string hint = "hint: " + escape_for_terminal(problem.hint.text);
  return wrap(detail, 2, room) + wrap(hint, 4, is_command ? std::nullopt : room);
}

// Returns what to say of clients that wait without a queue, or nothing if there are none.
std::string describe_listening(const Snapshot& snapshot) {
  if (!snapshot.listening) {
    return "waiters without a queue are unknown: this user is not allowed to run PUBSUB";
  }
  if (*snapshot.listening == 0) return "";
  return plural(*snapshot.listening, "listener") + ": waiting without a queue, or watching";
}

// Returns who the listeners may be, such as "web1 pid 4242, web2 pid 7", or nothing.
std::string describe_listening_clients(const Snapshot& snapshot) {
  if (!snapshot.listening_clients || snapshot.listening_clients->empty()) return "";
  constexpr std::size_t k_most_clients = 20;
  const auto& clients = *snapshot.listening_clients;
  std::string text = "rlock processes that listen, to this lock or to another: ";
  for (std::size_t i = 0; i < std::min(clients.size(), k_most_clients); ++i) {
    text += (i == 0 ? "" : ", ") + escape_for_terminal(clients[i].host) + " pid " +
            std::to_string(clients[i].pid);
  }
  if (clients.size() > k_most_clients)
    text += " and " + std::to_string(clients.size() - k_most_clients) + " more";
  return text;
}

}  // namespace

std::string describe_permits(const Snapshot::Permits& permits) {
  // Redisson allows numbers below 0.
  return std::to_string(permits.available) + " of " + std::to_string(permits.total) +
         (permits.total == 1 ? " permit" : " permits") + " available";
}

std::string to_text(const Snapshot& snapshot, const std::vector<ProblemText>& problems, Room room,
                    Detail detail, const std::vector<ProblemText>& notes) {
  std::string text = first_line(snapshot, room);
  const auto add_title = [&](const std::string& title) {
    text += '\n';
    text += fit_line(title, room);
  };
  if (!snapshot.holders.empty()) {
    add_title(plural(snapshot.holders.size(), "holder"));
    text += holders_table(snapshot, room);
    for (const Holder& holder : snapshot.holders) {
      const auto kept = describe_kept(holder.owner, holder.about);
      if (kept) text += wrap(*kept, 4, room);
    }
  }
  if (!snapshot.waiters.empty()) {
    add_title(describe_waiters(snapshot));
    text += waiters_table(snapshot, room);
  }
  const std::string listening = describe_listening(snapshot);
  if (!listening.empty()) add_title(listening);
  const std::string clients = describe_listening_clients(snapshot);
  if (!clients.empty()) text += wrap(clients, 4, room);
  if (snapshot.token) add_title("fencing token " + std::to_string(*snapshot.token));
  for (const auto& [title, texts] : {std::pair("problem", &problems), {"note", &notes}}) {
    if (!texts->empty()) add_title(plural(texts->size(), title));
    for (const ProblemText& problem : *texts) text += describe(problem, room);
  }
  const std::string raw = detail == Detail::raw ? raw_lines(snapshot, room) : "";
  if (!raw.empty()) add_title("raw");
  text += raw;
  return text;
}

}  // namespace rlock::cli
