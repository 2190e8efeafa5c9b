// What somebody meant who mistyped a word.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace rlock {

// Returns the one of `known` that `word` differs from the least, if that is little: a letter or two
// that were left out, added, mistaken or swapped.
[[nodiscard]] std::optional<std::string_view> nearest_word(std::string_view word,
                                                           std::span<const std::string_view> known);

}  // namespace rlock
