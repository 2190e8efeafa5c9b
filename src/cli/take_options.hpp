// The options of the commands that take a lock: exec and acquire.
#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "lock/reentrant.hpp"

namespace CLI {
class App;
}

namespace rlock::cli {

struct TakeOptions {
  std::string kind = "reentrant";
  bool fair = false;
  std::string fair_wait = "15s";
  std::optional<std::string> wait;
  bool no_wait = false;
  std::string lease = "30s";
  bool no_watchdog = false;
  std::string conflict_status = "75";
  std::string note;
  bool no_info = false;

  void add_to(CLI::App& app);

  [[nodiscard]] lock::Kind lock_kind() const;
  // Throw Error (usage).
  [[nodiscard]] TimePoint wait_deadline() const;
  [[nodiscard]] Milliseconds lease_length() const;
  [[nodiscard]] Milliseconds fair_wait_length() const;
  [[nodiscard]] ExitStatus conflict_exit_status() const;

  // Returns what others are told of the owner: `about`, if the user lets them know, and his note.
  // Throws Error (usage) for a note that is too long.
  [[nodiscard]] lock::About tell(const lock::About& about) const;

  // Returns a new owner, whose number others do not know a process by unless the user lets them.
  [[nodiscard]] std::string fresh_owner() const;
};

}  // namespace rlock::cli
