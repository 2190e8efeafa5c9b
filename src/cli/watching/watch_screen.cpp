#include "cli/watching/watch_screen.hpp"

#include <algorithm>
#include <utility>

#include "base/duration.hpp"
#include "base/text_width.hpp"
#include "base/wall_time.hpp"
#include "cli/watching/lock_view.hpp"

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

}  // namespace

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
