// Adds up the answers of several servers.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "lock/words/busy.hpp"

namespace rlock::lock {

// A majority of the servers. Servers that cannot be reached count as servers, too.
struct Majority {
  std::size_t servers;
  [[nodiscard]] std::size_t needed() const { return servers / 2 + 1; }
  // Returns whether the servers without these `others` are no majority.
  [[nodiscard]] bool is_blocked_by(std::size_t others) const { return others > servers - needed(); }
};

struct Refusal {
  Busy busy;
  // No owner is known to have a majority. Several owners that came at once may have some votes
  // each, or votes of a dead owner are left.
  bool is_split = false;
};

// Adds up a vote without a majority: returns who has the lock, and until when no majority is free.
// `refusals` (at least one): servers where another owner has the lock. `granted`: servers that
// voted for us. `failures`: servers that failed. The other servers have not answered yet.
[[nodiscard]] Refusal add_up(std::vector<Busy> refusals, std::size_t granted,
                             const std::vector<std::exception_ptr>& failures, Majority majority);

// Throws redis::Unavailable with all failures, or the first permanent error if permanent errors
// rule out a majority, or Restarted if restarted servers are what is missing. `purpose`: what the
// servers were asked for, such as "take the lock". `silent`: how many servers have neither answered
// nor failed.
[[noreturn]] void throw_too_few(const std::vector<std::exception_ptr>& failures, Majority majority,
                                const std::string& purpose, std::size_t silent = 0);

}  // namespace rlock::lock
