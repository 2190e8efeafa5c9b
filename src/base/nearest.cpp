#include "base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rlock {
namespace {

// Returns how many letters have to be inserted, removed or replaced to make one of the other; a
// swap of neighbours counts twice.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i - 1] == other[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
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
