// The names of everything that Redis holds about a lock (Redisson's, byte for byte), and the bounds
// on a lock's name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/key.hpp"
#include "lua_limits.hpp"

namespace rlock::lock {

inline constexpr std::size_t k_longest_name = lua::k_longest_name;

// Throws Error (usage) unless `name` has 1 to 1024 bytes, and if a lock of this name could be
// another lock's own key.
void check_name(std::string_view name);

// Returns whether a name is another in braces, "{a}".
[[nodiscard]] bool is_braced(const std::string& name);

// Redisson puts a name without a brace of its own in braces: so all its keys for "a" and "{a}" are
// the same, except the lock itself. Returns the other of two such names, or nothing.
[[nodiscard]] std::optional<std::string> brace_alias(const std::string& name);

// Returns the message on the channel of a lock's releases that the lock is taken again. Twins share
// the channel.
[[nodiscard]] std::string taken_message(const std::string& name);

// The same for a semaphore: no permit is left.
inline constexpr const char* k_none_left_message = "0";

// Returns whether a message on a channel of releases is one of these, and says nothing of a
// release.
[[nodiscard]] bool tells_of_taking(std::string_view channel, std::string_view message);

struct KeyNames {
  explicit KeyNames(const std::string& name);

  // Returns the key that remembers a request by its identifier, so that it counts once.
  [[nodiscard]] Key latch(std::string_view id) const { return Key(latch_prefix + std::string(id)); }

  // Returns the channel on which this waiter of a fair lock is called.
  [[nodiscard]] Key waiter_channel(const std::string& owner) const {
    return Key(channel + ":" + owner);
  }

  Key lock;                // hash: owner -> hold count
  Key channel;             // a message on it says that the lock became free
  Key read_write_channel;  // the same for a read/write lock
  Key semaphore_channel;   // the same for a semaphore
  Key permits;             // sorted set: permits of a semaphore that are out, by their end
  Key queue;               // list: waiting owners of a fair lock
  Key scores;              // sorted set: their deadlines
  Key token;               // string: the last fencing token
  Key info;                // hash, rlock's own: owner -> who that is
  std::string latch_prefix;
  std::string reader_prefix;  // of the keys of a reader's holds: ...OWNER:rwlock_timeout:K
};

}  // namespace rlock::lock
