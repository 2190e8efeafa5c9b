// Glob patterns of Redis, for names that the server cannot match itself.
#pragma once

#include <string_view>

namespace rlock {

// Returns whether `text` matches `pattern`, by the rules of the server's MATCH: `*`, `?`, `[abc]`,
// `[^a-z]`, and `\` before a character that means itself.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace rlock
