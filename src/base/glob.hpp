// Glob patterns of Redis.
#pragma once

#include <string>
#include <string_view>

namespace rlock {

// Returns the pattern that only `text` matches.
[[nodiscard]] std::string literal_glob(std::string_view text);

// Returns whether `text` matches `pattern`, by the rules of the server's MATCH: `*`, `?`, `[abc]`,
// `[^a-z]`, and `\` before a character that means itself.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace rlock
