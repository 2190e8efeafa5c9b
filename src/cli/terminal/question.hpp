// Asking a person at a terminal before something is done that cannot be undone.
#pragma once

#include <string>

namespace rlock::cli {

// Returns whether there is somebody to ask: stdin and stderr are terminals.
[[nodiscard]] bool can_ask() noexcept;

// Writes `rlock: <question> [y/N] ` to stderr and waits for a line; what was typed before the
// question is no answer. `question` must be harmless for a terminal. Returns true for y, Y and yes,
// and for nothing else. Ctrl-C ends the process.
[[nodiscard]] bool confirms(const std::string& question);

}  // namespace rlock::cli
