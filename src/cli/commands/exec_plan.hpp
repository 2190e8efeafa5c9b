// The options of rlock exec, and their meaning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cli/settings/take_options.hpp"
#include "cli/taking/taking.hpp"
#include "process/supervisor.hpp"

namespace rlock::cli {

// The options as the user typed them.
struct ExecOptions {
  std::vector<std::string> names;
  TakeOptions take;
  std::optional<std::string> shell;
  std::string on_lost = "term";
  std::optional<std::string> kill_after;
  std::optional<std::string> at_least;
  std::optional<std::string> at_most;
};

// The same with every text parsed.
struct ExecPlan {
  std::vector<std::string> names;  // sorted, so that runs with the same names do not deadlock
  std::vector<std::string> command;
  Request request;  // for each of the names
  bool renew;
  process::Supervisor::OnLost on_lost;
  Milliseconds grace;
  Milliseconds at_least{};
  std::optional<Milliseconds> at_most;
  bool is_quiet = false;

  [[nodiscard]] Milliseconds lease() const { return request.wish.terms.lease; }
};

// Parses the texts of the options. `command`: the words after `--`. Throws Error (usage).
[[nodiscard]] ExecPlan make_plan(const ExecOptions& options,
                                 const std::optional<std::vector<std::string>>& command);

}  // namespace rlock::cli
