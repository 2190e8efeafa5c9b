#include "cli/status_line.hpp"

#include <unistd.h>
#include <utility>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/text_width.hpp"
#include "cli/terminal_size.hpp"

namespace rlock::cli {
namespace {

constexpr Milliseconds k_patience{1000};

void write_stderr(const std::string& text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

StatusLine::StatusLine(std::string name, Show show)
    : name_(std::move(name)),
      enabled_(show == Show::on_terminal && ::isatty(STDERR_FILENO) == 1),
      start_(BootClock::now()) {}

void StatusLine::update(const lock::Busy& busy) {
  // A job in the background must not write over what runs in the foreground.
  if (!enabled_ || ::tcgetpgrp(STDERR_FILENO) != ::getpgrp()) return;
  const auto waited = std::chrono::floor<Milliseconds>(BootClock::now() - start_);
  if (waited < k_patience) return;
  std::string line =
      "rlock: " + escape_for_terminal(name_) + ": waiting " + format_duration(waited) + " for ";
  const bool is_free = busy.ttl == Milliseconds(0) && busy.owner.empty();
  line += is_free ? "its turn" : describe_holder(busy.owner, busy.holder);
  if (busy.held_for && busy.held_for->count() >= 0) {
    line += ", who has held it for " + format_duration(*busy.held_for);
  }
  if (!busy.ttl) line += " and without an expiry";
  if (busy.place) line += "; place " + std::to_string(*busy.place + 1) + " in the queue";
  const std::size_t columns = terminal_columns(STDERR_FILENO).value_or(80);
  write_stderr("\r\x1b[K" + fit(line, columns - 1));
  shown_ = true;
}

void StatusLine::clear() noexcept {
  if (shown_) write_stderr("\r\x1b[K");
  shown_ = false;
}

std::string describe_holder(const std::string& owner, const lock::About& about) {
  std::string text = owner.empty() ? "an unknown holder" : escape_for_terminal(owner);
  if (!about.host.empty()) {
    text = escape_for_terminal(about.host) + " pid " + std::to_string(about.pid);
    if (!about.command.empty()) text += " (" + escape_for_terminal(about.command) + ")";
  }
  if (!about.note.empty()) text += " \"" + escape_for_terminal(about.note) + "\"";
  return text;
}

}  // namespace rlock::cli
