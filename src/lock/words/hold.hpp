// A hold of a lock that outlives the process that has taken it: rlock acquire's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlock::lock {

inline constexpr std::size_t k_hold_digits = 32;  // of an identifier

// The server remembers by the identifier that the hold was given back: so whoever knows it, and
// there may be several, gives back this hold once, and never another of the same owner.
struct Hold {
  // nested: nothing was counted, since a string has one hold, which is the outer one.
  enum class Kind { granted, reentered, nested };
  // Of a read/write lock, which the same owner may have on both sides.
  enum class Side { none, read, write };
  Kind kind = Kind::granted;
  std::string id;
  std::optional<std::int64_t> token{};  // the fencing token, if one was drawn
  Side side = Side::none;
};

// Returns the hold, without its token, as a run of an entry of RLOCK_HELD.
[[nodiscard]] std::string run_of(const Hold& hold);

// Returns the runs of an entry of RLOCK_HELD, the innermost last. They are views of `runs`.
[[nodiscard]] std::vector<std::string_view> split_runs(std::string_view runs);

// Returns the holds among the runs of an entry of RLOCK_HELD, the innermost last.
[[nodiscard]] std::vector<Hold> holds_among(std::string_view runs);

}  // namespace rlock::lock
