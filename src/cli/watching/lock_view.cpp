#include "cli/watching/lock_view.hpp"

#include <algorithm>
#include <functional>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/text_width.hpp"
#include "base/wording.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/snapshot_json.hpp"
#include "cli/watching/event_lines.hpp"
#include "lock/words/kind.hpp"

namespace rlock::cli {
namespace {

constexpr std::size_t k_shortest_name = 8;  // that a narrow terminal leaves of a name

std::string who(const lock::Party& party) {
  std::string text = describe_holder(party.owner, party.about.value_or(lock::About{}));
  if (party.about && !party.about->user.empty()) {
    text += " as " + escape_for_terminal(party.about->user);
  }
  return text;
}

// Returns the owner, unless `who` already shows it.
std::string owner(const lock::Party& party) {
  const bool is_told = !party.about || party.about->host.empty();
  return is_told ? "" : ", owner " + escape_for_terminal(party.owner);
}

// Adds `rows` of the `size` lines that `line` makes. If lines are left out, the last line says how
// many.
void add_some(std::vector<std::string>& lines, std::size_t rows, std::size_t size,
              const std::string& more, const std::function<std::string(std::size_t)>& line) {
  if (rows == 0) return;
  const std::size_t whole = rows >= size ? size : rows - 1;
  for (std::size_t i = 0; i < whole; ++i) lines.push_back(line(i));
  if (whole == size) return;
  lines.push_back("  ... " + std::string(whole == 0 ? "" : "and ") + std::to_string(size - whole) +
                  (whole == 0 ? " " : " more ") + more);
}

}  // namespace

std::vector<std::size_t> share_rows(std::size_t rows, const std::vector<std::size_t>& wanted) {
  std::vector<std::size_t> shares(wanted.size());
  for (bool given = true; given;) {
    given = false;
    for (std::size_t part = 0; part < wanted.size() && rows > 0; ++part) {
      if (shares[part] == wanted[part]) continue;
      ++shares[part];
      --rows;
      given = true;
    }
  }
  return shares;
}

std::string LockView::title(std::size_t columns) const {
  const Tone tone = !problems_.empty() ? Tone::bad : snapshot_.held ? Tone::busy : Tone::good;
  const std::string state = "  " + paint_(tone, this->state());
  const std::size_t taken = display_width(state);
  const std::size_t room = std::max(columns - std::min(taken, columns), k_shortest_name);
  return fit(fit(escape_for_terminal(snapshot_.name), room) + state, columns);
}

std::string LockView::state() const {
  std::string text = snapshot_.is_any_string ? k_if_lock : "";
  text += snapshot_.held ? "held (" + kind_name(snapshot_.kind) + ")" : "free";
  if (snapshot_.held) {
    const std::int64_t ttl = snapshot_.ttl_ms.value_or(-1);
    text += ttl < 0 ? ", without an expiry" : ", expires in " + until(snapshot_.time_ms + ttl);
  }
  text += describe_waiting(snapshot_);
  if (!problems_.empty()) text += ", " + plural(problems_.size(), "problem");
  return text;
}

std::size_t LockView::detail_rows() const {
  return snapshot_.holders.size() + problems_.size() + snapshot_.waiters.size();
}

std::vector<std::string> LockView::details(std::size_t rows) const {
  const std::size_t holders = snapshot_.holders.size();
  const std::size_t problems = problems_.size();
  const std::size_t waiters = snapshot_.waiters.size();
  const auto shares = share_rows(rows, {holders, problems, waiters});
  std::vector<std::string> lines;
  add_some(lines, shares[0], holders, holders == 1 ? "holder" : "holders",
           [&](std::size_t i) { return holder(i); });
  add_some(lines, shares[1], problems, problems == 1 ? "problem" : "problems",
           [&](std::size_t i) { return problem(i); });
  add_some(lines, shares[2], waiters, "waiting", [&](std::size_t i) { return waiter(i); });
  return lines;
}

std::string LockView::holder(std::size_t index) const {
  const lock::Holder& holder = snapshot_.holders[index];
  const char* label = holder.mode == lock::Holder::Mode::read    ? "  reader    "
                      : holder.mode == lock::Holder::Mode::write ? "  writer    "
                                                                 : "  holder    ";
  const auto kept = describe_kept(holder.owner, holder.about.value_or(lock::About{}));
  std::string text = label + kept.value_or(who(holder) + since(holder));
  if (holder.count > 1) text += ", count " + std::to_string(holder.count);
  return text + owner(holder);
}

std::string LockView::waiter(std::size_t index) const {
  const lock::Waiter& waiter = snapshot_.waiters[index];
  std::string text = "  waiter " + std::to_string(index + 1) + "  " + who(waiter);
  text += !waiter.alive ? ", may be dead" : *waiter.alive ? "" : ", dead";
  text += since(waiter);
  text += waiter.deadline_ms ? ", deadline in " + until(*waiter.deadline_ms) : ", no deadline";
  return text + owner(waiter);
}

std::string LockView::problem(std::size_t index) const {
  const ProblemText& problem = problems_[index];
  return paint_(Tone::bad,
                "  problem   " + escape_for_terminal(problem.code + ": " + problem.detail + "; " +
                                                     problem.hint.text));
}

std::string LockView::since(const lock::Party& party) const {
  if (!party.since_ms) return "";
  const std::int64_t span = snapshot_.time_ms + age_.count() - *party.since_ms;
  return ", for " + format_seconds(Milliseconds(span));
}

std::string LockView::until(std::int64_t time_ms) const {
  const Milliseconds left(time_ms - snapshot_.time_ms - age_.count());
  return format_seconds(std::chrono::ceil<std::chrono::seconds>(left));
}

}  // namespace rlock::cli
