#include "base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rlock {
namespace {

// Returns how many letters to insert, remove, replace or swap, to make one of the other.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::vector<std::size_t>> of(one.size() + 1,
                                           std::vector<std::size_t>(other.size() + 1));
  for (std::size_t i = 0; i <= one.size(); ++i) of[i][0] = i;
  for (std::size_t j = 0; j <= other.size(); ++j) of[0][j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = of[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      of[i][j] = std::min({of[i - 1][j] + 1, of[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
      }
    }
  }
  return of[one.size()][other.size()];
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> known) {
  constexpr std::size_t k_longest = 64;  // no mistyped word
  if (word.size() > k_longest) return std::nullopt;
  std::optional<std::string_view> nearest;
  std::size_t least = 3;
  for (const std::string_view candidate : known) {
    const std::size_t changes = distance(word, candidate);
    if (changes < least && 2 * changes < candidate.size()) {
      least = changes;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace rlock
