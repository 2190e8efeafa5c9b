// What rlock says on stdout and stderr, and its questions to the user.
#pragma once

#include <string>
#include <string_view>

namespace rlock::cli {

// Writes `rlock: <text>` and a newline to stderr. `text` must already be harmless for a terminal.
// Waits as long as stderr takes nothing: a terminal that Ctrl-S has stopped, or a full pipe. If
// stderr is closed, or this is a background job, the text is lost, and no signal of the write acts.
void say(std::string_view text) noexcept;

// Writes `text` to stderr unchanged, in one write if stderr takes it so. Otherwise as `say`.
void write_stderr(std::string_view text) noexcept;

// Writes what stderr takes of `text` at once.
void try_write_stderr(std::string_view text) noexcept;

// From now on, a message that stderr does not take within 100 ms is lost. Call it in a command that
// must go on meanwhile: to read its signals, to renew a lock, or to end what has lost its lock.
void limit_messages() noexcept;

// Writes `text` to stdout, and waits as long as stdout takes nothing. Throws Error if that fails. A
// closed pipe is not a failure: it ends the process without a message, with status 141, as a shell
// reports SIGPIPE.
void print(std::string_view text);

// Writes the start of `text` to stdout: what stdout takes now, if poll() has said that it takes
// some. Returns how many bytes that is. Fails as `print` does.
[[nodiscard]] std::size_t print_some(std::string_view text);

// Writes `text` to stdout. Throws Error if that fails, even for a closed pipe, or if `cancel_fd`
// gets readable before stdout has taken everything. Raises no signal.
void print_or_throw(std::string_view text, int cancel_fd);

// Ends the process like `print` if nobody can read stdout any more. So `rlock watch job | head -1`
// does not wait for the next event.
void end_if_unread() noexcept;

// Returns whether a user can be asked: stdin and stderr are terminals.
[[nodiscard]] bool can_ask() noexcept;

// Writes `rlock: <question> [y/N] ` to stderr and waits for a line. Ignores what was typed before
// the question. `question` must already be harmless for a terminal. Returns true for y, Y and yes,
// and false for all other lines. Ctrl-C ends the process.
[[nodiscard]] bool confirms(const std::string& question);

}  // namespace rlock::cli
