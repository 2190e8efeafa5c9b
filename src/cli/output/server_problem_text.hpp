// What is wrong with a server, in words.
#pragma once

#include "cli/output/problem_text.hpp"
#include "cli/output/remedy.hpp"
#include "lock/inspection/server_health.hpp"

namespace rlock::cli {

// Returns what to say of a problem of the server that `remedies` act on. Throws as
// Remedies::redis_cli.
[[nodiscard]] ProblemText describe_problem(const lock::ServerProblem& problem,
                                           const Remedies& remedies);

}  // namespace rlock::cli
