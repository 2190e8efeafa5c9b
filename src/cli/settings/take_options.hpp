// The options of the commands that take a lock: exec and acquire.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/settings/key_format.hpp"
#include "lock/kinds/simple/simple.hpp"
#include "lock/servers/session.hpp"
#include "lock/words/kind.hpp"
#include "lock/words/terms.hpp"

namespace CLI {
class App;
}

namespace rlock::cli {

struct TakeOptions {
  std::string kind = "reentrant";
  bool fair = false;
  bool shared = false;
  bool exclusive = false;
  std::optional<std::string> permits;
  KeyFormat key_format;
  std::optional<std::string> token;
  std::string fair_wait = "15s";
  std::optional<std::string> wait;
  bool no_wait = false;
  std::string lease = "30s";
  bool no_watchdog = false;
  bool fence = false;
  std::optional<std::string> restart_delay;
  std::string sync_replicas = "0";
  std::string conflict_status = "75";
  std::string note;
  bool no_info = false;

  void add_to(CLI::App& app);

  [[nodiscard]] lock::Kind lock_kind() const;
  [[nodiscard]] lock::Value value() const {
    return token ? lock::Value::given : lock::Value::fresh;
  }
  // Throw Error (usage).
  [[nodiscard]] std::vector<std::string> keys_of(const std::vector<std::string>& names) const;
  [[nodiscard]] int permit_count() const;
  [[nodiscard]] TimePoint wait_deadline() const;
  [[nodiscard]] lock::Terms terms() const;
  [[nodiscard]] Milliseconds fair_wait_length() const;
  [[nodiscard]] ExitStatus conflict_exit_status() const;

  // Where there are several servers: has none of them use up the lease, and none that has just
  // started grant the lock, as it may have forgotten one that is still held, or that was to be kept
  // `at_least` so long. Throws Error (usage).
  void fit_to_servers(lock::SessionOptions& servers, lock::Terms& terms,
                      Milliseconds at_least = {}) const;

  // Returns what others are told of the owner: `about`, if the user lets them know, and his note.
  // Throws Error (usage) for a note that is too long.
  [[nodiscard]] lock::About tell(const lock::About& about) const;

  // Returns the owner that the user has given, or a new one, whose number others do not know a
  // process by unless the user lets them. Throws Error (usage).
  [[nodiscard]] std::string owner() const;

 private:
  void add_kind_to(CLI::App& app);
};

}  // namespace rlock::cli
