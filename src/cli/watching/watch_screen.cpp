#include "cli/watching/watch_screen.hpp"

#include <algorithm>
#include <utility>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/text_width.hpp"
#include "base/wall_time.hpp"
#include "base/wording.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/snapshot_json.hpp"
#include "cli/output/view_text.hpp"
#include "cli/watching/event_lines.hpp"

namespace rlock::cli {
namespace {

constexpr std::size_t k_most_events = 500;  // more than any terminal has rows

Milliseconds age(TimePoint taken, TimePoint now) {
  return std::chrono::floor<Milliseconds>(std::max(now - taken, TimePoint::duration(0)));
}

// Returns the time of day: "01:59:22Z".
std::string clock_text(std::int64_t time_ms) {
  constexpr std::size_t k_date = 11;
  constexpr std::size_t k_time = 8;
  return utc_time(time_ms).substr(k_date, k_time) + "Z";
}

constexpr std::size_t k_shortest_name = 8;  // that a narrow terminal leaves of a name

std::string who(const lock::Party& party) {
  std::string text = describe_holder(party.owner, party.about);
  if (!party.about.user.empty()) text += " as " + escape_for_terminal(party.about.user);
  return text;
}

// Returns the owner, unless `who` already shows it.
std::string owner(const lock::Party& party) {
  return party.about.host.empty() ? "" : ", owner " + escape_for_terminal(party.owner);
}

// Adds `rows` of the lines that `line` makes of `items`. The last says how many are left out, if
// any. There are two items at least then, so `more` is a plural.
template <typename Item, typename Line>
void add_some(std::vector<std::string>& lines, std::size_t rows, const std::vector<Item>& items,
              const std::string& more, const Line& line) {
  if (rows == 0) return;
  const std::size_t size = items.size();
  const std::size_t whole = rows >= size ? size : rows - 1;
  for (std::size_t i = 0; i < whole; ++i) lines.push_back(line(items[i]));
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
  std::string text = snapshot_.held ? "held (" + kind_name(snapshot_) + ")" : "free";
  text = describe_no_lock(snapshot_).value_or(if_lock(snapshot_.ambiguity) + text);
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
  const std::vector<lock::Holder>& holders = snapshot_.holders;
  const std::vector<lock::Waiter>& waiters = snapshot_.waiters;
  const auto shares = share_rows(rows, {holders.size(), problems_.size(), waiters.size()});
  const auto to_line = [&](const auto& item) { return line(item); };
  std::vector<std::string> lines;
  add_some(lines, shares[0], holders, "holders", to_line);
  add_some(lines, shares[1], problems_, "problems", to_line);
  add_some(lines, shares[2], waiters, "waiting", to_line);
  return lines;
}

std::string LockView::line(const lock::Holder& holder) const {
  const char* label = holder.mode == lock::Holder::Mode::read    ? "  reader    "
                      : holder.mode == lock::Holder::Mode::write ? "  writer    "
                                                                 : "  holder    ";
  const auto kept = describe_kept(holder.owner, holder.about);
  std::string text = label + kept.value_or(who(holder) + since(holder));
  if (holder.count > 1) text += ", count " + std::to_string(holder.count);
  return text + owner(holder);
}

std::string LockView::line(const lock::Waiter& waiter) const {
  const auto place = &waiter - snapshot_.waiters.data() + 1;
  std::string text = "  waiter " + std::to_string(place) + "  " + who(waiter);
  text += !waiter.alive ? ", may be dead" : *waiter.alive ? "" : ", dead";
  text += since(waiter);
  text += waiter.deadline_ms ? ", deadline in " + until(*waiter.deadline_ms) : ", no deadline";
  return text + owner(waiter);
}

std::string LockView::line(const ProblemText& problem) const {
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

WatchScreen::WatchScreen(const std::vector<std::string>& names, std::string server,
                         std::string hint, const Paint& paint)
    : server_(std::move(server)), hint_(std::move(hint)), paint_(paint), locks_(names.size()) {}

void WatchScreen::add_event(std::int64_t time_ms, const std::string& text) {
  events_.push_back("  " + clock_text(time_ms) + "  " + text);
  if (events_.size() > k_most_events) events_.pop_front();
}

void WatchScreen::set_away(TimePoint since, const std::string& why) {
  away_since_ = since;
  away_why_ = why;
}

// The server's clock goes on by itself between two snapshots.
std::string WatchScreen::status(TimePoint now) const {
  const Looked* latest = nullptr;
  for (const Looked& entry : locks_) {
    if (entry.snapshot && (latest == nullptr || entry.at > latest->at)) latest = &entry;
  }
  std::string text;
  if (latest != nullptr) {
    text = clock_text(latest->snapshot->time_ms + age(latest->at, now).count()) + "  ";
  }
  if (!away_since_) return text + "connected to " + server_;
  const std::string span = format_seconds(age(*away_since_, now));
  return text + paint_(Tone::bad, "server away for " + span + ": " + away_why_);
}

std::vector<std::string> WatchScreen::body(std::size_t rows, std::size_t columns,
                                           TimePoint now) const {
  std::vector<LockView> views;
  for (const Looked& entry : locks_) {
    if (!entry.snapshot) continue;
    views.emplace_back(*entry.snapshot, entry.problems, age(entry.at, now), paint_);
  }
  std::vector<std::string> lines;
  const std::size_t shown =
      views.size() <= rows ? views.size() : std::max<std::size_t>(rows, 1) - 1;
  // Each title is there before any detail, and the events share what is left with the locks.
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < shown; ++i) wanted.push_back(views[i].detail_rows());
  wanted.push_back(events_.empty() ? 0 : events_.size() + 2);
  std::size_t left = rows - shown;
  if (shown < views.size() && left > 0) --left;
  const auto shares = share_rows(left, wanted);
  for (std::size_t i = 0; i < shown; ++i) {
    lines.push_back(views[i].title(columns));
    for (std::string& line : views[i].details(shares[i])) lines.push_back(std::move(line));
  }
  if (shown < views.size() && rows > 0) {
    lines.push_back("... and " + std::to_string(views.size() - shown) + " more locks");
  }
  std::size_t room = shares.back();
  if (room > 2) {  // where there is little room, without a head
    lines.emplace_back();
    lines.emplace_back("last events");
    room -= 2;
  }
  for (std::size_t i = events_.size() - std::min(room, events_.size()); i < events_.size(); ++i) {
    lines.push_back(events_[i]);
  }
  return lines;
}

std::vector<std::string> WatchScreen::lines(const TerminalSize& size, TimePoint now) const {
  const std::size_t rows = std::max<std::size_t>(size.rows, 1);
  std::vector<std::string> lines = body(rows - 1, size.columns, now);
  lines.resize(rows - 1);
  const std::size_t hint = display_width(hint_);
  const bool has_room = size.columns >= 4 * hint;  // the server comes first
  lines.push_back(has_room ? fit(status(now), size.columns - hint) + hint_ : status(now));
  for (std::string& line : lines) line = fit(line, size.columns);
  return lines;
}

}  // namespace rlock::cli
