// A hold of a lock: what a grant gives, and what other processes are told of it in RLOCK_HELD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "lock/words/kind.hpp"

namespace rlock::lock {

inline constexpr std::size_t k_hold_digits = 32;  // of an identifier

struct Hold {
  enum class Standing {
    granted,    // the owner had no other hold
    reentered,  // beside the hold of a process above this one
    nested,     // as reentered, but not counted: a string has one hold, which is the outer one
  };

  std::string owner{};
  // The server remembers by it that the hold was given back. So whoever knows it, and there may be
  // several, gives back this hold once, and never another hold of the same owner.
  std::string id{};
  Standing standing = Standing::granted;
  Side side = Side::none;
  std::optional<std::int64_t> token{};  // the fencing token, if one was drawn

  // What only the process knows that has taken the lock, or renews it.
  Milliseconds lease{};  // what a renewal asks for
  TimePoint deadline{};  // until then nobody else can have the lock
  int count = 1;         // how often the owner holds it
  std::string server{};  // which run of which server granted it, if it is one of several
};

// Returns the standing, the side and the identifier as a run of an entry of RLOCK_HELD.
[[nodiscard]] std::string run_of(const Hold& hold);

// Returns the holds of `owner` among the runs of his entry of RLOCK_HELD, the innermost last.
[[nodiscard]] std::vector<Hold> holds_among(std::string_view runs, const std::string& owner);

}  // namespace rlock::lock
