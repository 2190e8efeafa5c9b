// Redis' glob patterns, for names that the server cannot match itself.
#pragma once

#include <string_view>

namespace rlock {

// Returns whether `text` is one that `pattern` means, as the server's MATCH has it: `*`, `?`,
// `[abc]`, `[^a-z]`, and `\` before a character that means itself.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace rlock
