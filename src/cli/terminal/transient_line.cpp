#include "cli/terminal/transient_line.hpp"

#include <unistd.h>

#include "base/text_width.hpp"
#include "cli/terminal/message.hpp"
#include "cli/terminal/terminal_size.hpp"

namespace rlock::cli {
namespace {

constexpr Milliseconds k_delay{1000};

}  // namespace

TransientLine::TransientLine(bool is_quiet)
    : enabled_(!is_quiet && ::isatty(STDERR_FILENO) == 1), start_(BootClock::now()) {}

Milliseconds TransientLine::waited() const noexcept {
  return std::chrono::floor<Milliseconds>(BootClock::now() - start_);
}

bool TransientLine::is_due() const noexcept {
  return enabled_ && waited() >= k_delay && ::tcgetpgrp(STDERR_FILENO) == ::getpgrp();
}

void TransientLine::show(const std::string& text) {
  if (!is_due()) return;
  const std::size_t columns = terminal_columns(STDERR_FILENO).value_or(80);
  try_write_stderr("\r\x1b[K" + fit("rlock: " + text, columns - 1));
  shown_ = true;
}

void TransientLine::clear() noexcept {
  if (shown_) try_write_stderr("\r\x1b[K");
  shown_ = false;
}

}  // namespace rlock::cli
