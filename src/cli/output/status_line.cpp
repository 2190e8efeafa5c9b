#include "cli/output/status_line.hpp"

#include "base/escape.hpp"
#include "cli/output/holder_text.hpp"

namespace rlock::cli {

void StatusLine::update(const lock::Busy& busy) {
  if (!line_.is_due()) return;
  line_.show(escape_for_terminal(name_) + ": " + describe_wait(busy, line_.waited(), deadline_));
}

}  // namespace rlock::cli
