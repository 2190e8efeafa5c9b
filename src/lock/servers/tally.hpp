// What the answers of several servers add up to.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "lock/words/busy.hpp"

namespace rlock::lock {

// The servers of a quorum: how many there are, and how many are a majority of them, whether they
// can be reached or not.
struct Majority {
  std::size_t servers;
  [[nodiscard]] std::size_t needed() const { return servers / 2 + 1; }
  // Returns whether a majority of the others can no longer be had.
  [[nodiscard]] bool is_blocked_by(std::size_t others) const { return others > servers - needed(); }
};

struct Refusal {
  Busy busy;
  // Whether no owner is known to have a majority: several who came at once have some votes each, or
  // what a dead one has left is in the way.
  bool is_split = false;
};

// Returns who has the lock, and until when a majority cannot be had. `refusals`, of which there is
// one, are the servers that somebody else has; `granted` others have given us their votes;
// some have failed with `failures`, and the rest have not answered yet.
[[nodiscard]] Refusal add_up(std::vector<Busy> refusals, std::size_t granted,
                             const std::vector<std::exception_ptr>& failures, Majority majority);

// Throws why too few of the servers have answered: Unavailable, with what they failed with; or,
// where time alone does not bring a majority back, the first error that it does not mend. `what` is
// what they were asked to do, and `silent` how many have neither answered nor failed.
[[noreturn]] void throw_too_few(const std::vector<std::exception_ptr>& failures, Majority majority,
                                const std::string& what, std::size_t silent = 0);

}  // namespace rlock::lock
