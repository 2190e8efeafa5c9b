// What rlock says on stdout and stderr.
#pragma once

#include <string>
#include <string_view>

namespace rlock::cli {

// Writes `rlock: <text>` and a newline to stderr. `text` must be harmless for a terminal already.
// Nothing follows from stderr's being unreadable, full or a background job's: no signal, no stop.
void say(std::string_view text) noexcept;

// Writes `text` to stderr as it is, in one write, as `say` does.
void write_stderr(std::string_view text) noexcept;

// Writes `text` to stdout. Throws Error if that fails; a closed pipe is no failure but ends the
// process quietly, with status 141 as a shell reports SIGPIPE.
void print(const std::string& text);

// Writes `text` to stdout. Throws Error also where that is a closed pipe; raises no signal.
void print_or_throw(const std::string& text);

// Ends the process as `print` does if nobody can read stdout any more: `rlock watch job | head -1`
// must not wait for the next event.
void end_if_unread() noexcept;

}  // namespace rlock::cli
