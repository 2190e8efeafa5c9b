// Bytes from a server or a user, made harmless for a terminal and valid for JSON.
#pragma once

#include <string>
#include <string_view>

namespace rlock {

// Returns `bytes` with control characters (also C1), DEL and bytes that are not UTF-8 written as
// \xNN, and a newline as \n: one line that cannot move a cursor or hide text.
[[nodiscard]] std::string escape_for_terminal(std::string_view bytes);

// Returns words of the user as a message may repeat them: harmless for a terminal, and without user
// and password of a URL, which may stand in the wrong place. A lock's name is told in full.
[[nodiscard]] std::string repeated(std::string_view words);

// Returns `bytes` as valid UTF-8: what is not is written as \xNN. Everything else stays as it is.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

}  // namespace rlock
