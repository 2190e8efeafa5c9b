// The kinds of lock, and what the rest of rlock asks about them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlock::lock {

// read and write are the two sides of one read/write lock.
enum class Kind { reentrant, fair, simple, read, write, semaphore };

// What the key of a lock is.
enum class Shape {
  hash,     // the owners, and how often each holds the lock
  sides,    // the same, and whether an owner reads or writes
  string,   // the owner
  permits,  // how many permits are left
};

// Of a hold of a read/write lock, which the same owner may have on both sides; or that the lock is
// a string.
enum class Side { none, read, write, string };

struct KindTraits {
  Kind kind;
  const char* name;  // in the options, the environment and the JSON
  Shape shape = Shape::hash;
  Side side = Side::none;
  bool queues = false;            // waiters have places, and each is called on its own channel
  bool is_shared = false;         // several owners may hold the lock at once
  bool holder_listens = true;     // the process that keeps a lock listens for its release
  bool needs_one_server = false;  // several independent servers cannot keep it
  bool has_tokens = true;         // fencing tokens
};

[[nodiscard]] const KindTraits& traits_of(Kind kind);

// Returns the names of all kinds.
[[nodiscard]] std::vector<std::string> kind_names();

// Returns the kind of this name, or nothing.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view name);

// Returns the kind of which a hold with this side is, or nothing if the side does not tell.
[[nodiscard]] std::optional<Kind> kind_of(Side side);

}  // namespace rlock::lock
