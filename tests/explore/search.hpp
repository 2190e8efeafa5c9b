// What every exploration needs: to know worlds again, the way to each, and words for a shell.
#pragma once

#include <cstdint>
#include <string>

namespace rlock::explore {

// Of a text that tells all that matters of a world. That two worlds have the same is next to
// impossible.
struct Hash128 {
  std::uint64_t one, other;
  bool operator==(const Hash128&) const = default;
};

struct Hasher {
  std::size_t operator()(const Hash128& hash) const { return hash.one; }
};

[[nodiscard]] inline Hash128 hash_of(const std::string& text) {
  Hash128 hash{0x9e3779b97f4a7c15ULL, 0xc2b2ae3d27d4eb4fULL};
  for (const unsigned char byte : text) {
    hash.one = (hash.one ^ byte) * 0x100000001b3ULL;
    hash.other = (hash.other + byte + 1) * 0x9fb21c651e98df25ULL;
    hash.other ^= hash.other >> 29;
  }
  return hash;
}

// How a world was reached: from which one, by which of its actions.
struct Step {
  std::uint32_t from;
  std::uint16_t action;
};

// Returns a word as a shell reads it.
[[nodiscard]] inline std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace rlock::explore
