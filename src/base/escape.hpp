// Bytes from a server or a user, made harmless for a terminal and valid for JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock {

// Returns `bytes` as one line that cannot move a cursor or hide text. Control characters (also C1),
// DEL and bytes that are not UTF-8 are written as \xNN, and a newline as \n.
[[nodiscard]] std::string escape_for_terminal(std::string_view bytes);

// The same, but with control characters written as \uNNNN, as JSON and TOML have it.
[[nodiscard]] std::string escape_as_codes(std::string_view bytes);

// Returns words of the user in a form that a message may repeat: harmless for a terminal, and
// without the user and password of a URL, which the user may have typed in the wrong place. Not for
// names of locks, which messages show in full.
[[nodiscard]] std::string quote_input(std::string_view words);

// Returns `bytes` as valid UTF-8. Bytes that are not UTF-8 are written as \xNN. All others stay.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

// Returns `text` with a backslash before each character that is in `special`.
[[nodiscard]] std::string with_backslashes(std::string_view text, std::string_view special);

// Returns `bytes` as lower-case hexadecimal digits.
[[nodiscard]] std::string to_hex(std::string_view bytes);

// Returns the bytes that to_hex writes as `digits`, or nothing if it writes none so.
[[nodiscard]] std::optional<std::string> from_hex(std::string_view digits);

}  // namespace rlock
