#include "cli/output/snapshot_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/escape.hpp"
#include "base/text_width.hpp"
#include "base/wording.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/json_writer.hpp"
#include "cli/output/party_table.hpp"
#include "cli/output/snapshot_json.hpp"
#include "lock/words/kind.hpp"

namespace rlock::cli {
namespace {

using lock::Snapshot;
using Room = std::optional<std::size_t>;

std::string fit_line(const std::string& line, Room room) {
  return (room ? fit(line, *room) : line) + "\n";
}

std::string describe_state(const Snapshot& snapshot) {
  const std::string permits = snapshot.permits ? describe_permits(*snapshot.permits) : "";
  if (!snapshot.held) return permits.empty() ? "free" : "free (semaphore), " + permits;
  return (snapshot.is_any_string ? k_if_lock : std::string()) + "held (" +
         kind_name(snapshot.kind) + "), " + (permits.empty() ? "" : permits + ", ") +
         describe_expiry(snapshot.ttl_ms.value_or(-1));
}

// The state must be seen, so it is the name that is cut.
std::string first_line(const Snapshot& snapshot, Room room) {
  std::string name = escape_for_terminal(snapshot.name);
  const std::string state = describe_state(snapshot);
  if (room && *room > state.size() + 2) name = fit(name, *room - state.size() - 2);
  return fit_line(name + ": " + state, room);
}

std::string describe_waiters(const Snapshot& snapshot) {
  const auto dead = std::ranges::count_if(
      snapshot.waiters, [](const lock::Waiter& waiter) { return waiter.alive == false; });
  return plural(snapshot.waiters.size(), "waiter") +
         (dead > 0 ? ", " + std::to_string(dead) + " dead" : "");
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

// Returns what to say of clients that wait without a queue, or nothing if there are none.
std::string describe_listening(const Snapshot& snapshot) {
  if (!snapshot.listening) {
    return "waiters without a queue are unknown: this user may not run PUBSUB";
  }
  if (*snapshot.listening == 0) return "";
  return plural(*snapshot.listening, "listener") + ": waiting without a queue, or watching";
}

}  // namespace

std::string describe_permits(const Snapshot::Permits& permits) {
  return std::to_string(permits.available) + " of " +
         plural(static_cast<std::size_t>(permits.total), "permit") + " available";
}

std::string to_text(const Snapshot& snapshot, const std::vector<ProblemText>& problems, Room room,
                    Detail detail) {
  std::string text = first_line(snapshot, room);
  const auto add_title = [&](const std::string& title) {
    text += '\n';
    text += fit_line(title, room);
  };
  if (!snapshot.holders.empty()) {
    add_title(plural(snapshot.holders.size(), "holder"));
    text += holders_table(snapshot, room);
    for (const lock::Holder& holder : snapshot.holders) {
      const auto kept = describe_kept(holder.owner, holder.about.value_or(lock::About{}));
      if (kept) text += wrap(*kept, 4, room);
    }
  }
  if (!snapshot.waiters.empty()) {
    add_title(describe_waiters(snapshot));
    text += waiters_table(snapshot, room);
  }
  const std::string listening = describe_listening(snapshot);
  if (!listening.empty()) add_title(listening);
  if (snapshot.token) add_title("fencing token " + std::to_string(*snapshot.token));
  if (!problems.empty()) add_title(plural(problems.size(), "problem"));
  for (const ProblemText& problem : problems) {
    text += wrap(problem.code + ": " + escape_for_terminal(problem.detail), 2, room);
    // A command must stay whole where it is copied from: the terminal breaks it where it ends.
    const bool is_command = problem.hint.kind == Hint::Kind::command;
    const std::string hint = "hint: " + escape_for_terminal(problem.hint.text);
    text += wrap(hint, 4, is_command ? std::nullopt : room);
  }
  const std::string raw = detail == Detail::raw ? raw_lines(snapshot, room) : "";
  if (!raw.empty()) add_title("raw");
  text += raw;
  return text;
}

}  // namespace rlock::cli
