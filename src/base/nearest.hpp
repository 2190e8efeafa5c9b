// Guesses the word that a user mistyped.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace rlock {

// Returns the word of `known` that is most like `word`. Returns nothing if they differ by more than
// one or two letters that were left out, added, mistaken or swapped.
[[nodiscard]] std::optional<std::string_view> nearest_word(std::string_view word,
                                                           std::span<const std::string_view> known);

}  // namespace rlock
