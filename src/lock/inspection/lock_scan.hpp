// Finds the locks on a server, a step at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "redis/client.hpp"

namespace rlock::lock {

// Globs as the server's MATCH has them.
struct LockPatterns {
  std::string names = "*";  // of the locks that are recognised
  std::string simple;       // of the strings that are to be taken for locks; empty: of none
};

// Goes over all keys of one server (of a cluster: of one master). Keeps the locks' names only, and
// holds the server up for about a millisecond a step, whatever else is there.
class LockScan {
 public:
  // `client` must outlive this object.
  LockScan(redis::Client& client, LockPatterns patterns);

  [[nodiscard]] bool is_done() const noexcept { return is_done_; }

  // Looks at some more keys. Returns the names that this has brought, each once in a scan; a
  // snapshot tells what they are, or that there is no lock (any more). Throws as
  // redis::Client::run, and redis::Unavailable if the server was restarted since the last step:
  // where it was then is lost.
  [[nodiscard]] std::vector<std::string> next();

  // Returns about how many keys have been looked at, and how many the server has, if it tells.
  [[nodiscard]] std::int64_t looked_at() const noexcept;
  [[nodiscard]] std::optional<std::int64_t> total() const noexcept { return total_; }
  // Returns how many keys could have been locks, but may not be read or hold more than a lock.
  [[nodiscard]] std::int64_t unread() const noexcept { return unread_; }

 private:
  redis::Client& client_;
  LockPatterns patterns_;
  std::vector<std::string> cursors_;  // of the script's walks; opaque
  std::optional<std::string> run_;    // of the server
  std::unordered_set<std::string> seen_;
  std::int64_t steps_ = 0;
  std::optional<std::int64_t> total_;
  std::int64_t unread_ = 0;
  bool is_done_ = false;
};

}  // namespace rlock::lock
