// What is wrong with a lock or a server, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/remedy.hpp"
#include "lock/inspection/problem.hpp"
#include "lock/inspection/repair.hpp"
#include "lock/inspection/server_health.hpp"
#include "lock/inspection/snapshot.hpp"

namespace rlock::cli {

// Texts can hold what others wrote: escape them for a terminal.
struct ProblemText {
  std::string detail;
  Hint hint{};
  std::string code{};
};

// Return what to say of problems of a lock. `of`: its name, and the replication of its server, are
// used: of a replica, the commands that change something name the master. Throw as
// Remedies::redis_cli.
[[nodiscard]] ProblemText describe_problem(const lock::Problem& problem, const lock::Snapshot& of,
                                           const Remedies& remedies);
[[nodiscard]] std::vector<ProblemText> describe_problems(const std::vector<lock::Problem>& problems,
                                                         const lock::Snapshot& of,
                                                         const Remedies& remedies);

// Returns the same of a problem of the server that `remedies` act on.
[[nodiscard]] ProblemText describe_problem(const lock::ServerProblem& problem,
                                           const Remedies& remedies);

// Returns what to say of `keys` keys (at least one) that rlock cannot tell from locks.
[[nodiscard]] std::string describe_left_out(std::int64_t keys);

// Returns what a repair has done, such as "given an expiry: KEY and 2 more".
[[nodiscard]] std::string describe_fix(const lock::Fix& fix);

}  // namespace rlock::cli
