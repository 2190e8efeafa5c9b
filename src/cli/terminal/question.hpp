// Asks the user at a terminal before rlock does what cannot be undone.
#pragma once

#include <string>

namespace rlock::cli {

// Returns whether a user can be asked: stdin and stderr are terminals.
[[nodiscard]] bool can_ask() noexcept;

// Writes `rlock: <question> [y/N] ` to stderr and waits for a line. Ignores what was typed before
// the question. `question` must already be harmless for a terminal. Returns true for y, Y and yes,
// and false for all other lines. Ctrl-C ends the process.
[[nodiscard]] bool confirms(const std::string& question);

}  // namespace rlock::cli
