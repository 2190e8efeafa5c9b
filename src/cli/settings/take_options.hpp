// The options of the commands that take a lock: exec and acquire.
#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "lock/servers/session.hpp"
#include "lock/words/kind.hpp"
#include "lock/words/owner.hpp"
#include "lock/words/terms.hpp"

namespace rlock::cli {

class OptionSet;

struct TakeOptions {
  std::string kind = "reentrant";
  bool fair = false;
  bool shared = false;
  bool exclusive = false;
  std::optional<std::string> permits;
  std::string fair_wait = "15s";
  std::optional<std::string> wait;
  bool no_wait = false;
  std::optional<std::string> wait_server;  // see Globals::server_wait
  std::string lease = "30s";
  bool no_watchdog = false;
  bool fence = false;
  std::optional<std::string> restart_delay;
  std::string sync_replicas = "0";
  std::string conflict_status = "75";
  std::string note;
  bool no_info = false;

  void add_to(OptionSet command);

  [[nodiscard]] lock::Kind lock_kind() const;
  // These convert the options. They throw Error (usage).
  [[nodiscard]] int permit_count() const;
  [[nodiscard]] TimePoint wait_deadline() const;
  [[nodiscard]] lock::Terms terms() const;
  [[nodiscard]] Milliseconds fair_wait_length() const;
  [[nodiscard]] ExitStatus conflict_exit_status() const;

  // For several servers: shortens the timeout, so that no server can use up the lease. Sets the
  // restart delay, so that a server that has just started grants no lock. It may have forgotten a
  // lock that is still held, or that is kept for `at_least`. Throws Error (usage).
  void fit_to_servers(lock::SessionOptions& servers, lock::Terms& terms,
                      Milliseconds at_least) const;

  // Returns what the server stores about the owner: the note, and `about` unless --no-info is
  // given. Throws Error (usage) for a note that is too long.
  [[nodiscard]] lock::About tell(const lock::About& about) const;

  // Returns a new owner. With --no-info, its number is random instead of the process ID.
  [[nodiscard]] std::string owner() const;

 private:
  void add_kind_to(OptionSet command);
};

}  // namespace rlock::cli
