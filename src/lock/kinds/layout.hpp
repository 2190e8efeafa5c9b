// How a kind of lock is kept on a server: all in which the kinds differ.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "lock/kinds/lock.hpp"
#include "lock/servers/question.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/kind.hpp"
#include "lock/words/terms.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {

// The hold that a request is about.
struct Asker {
  const KeyNames& keys;
  const std::string& owner;
  Key latch;                 // the key that remembers this hold's requests
  const std::string& about;  // as the side key is to tell of the owner (JSON)
  Hold::Standing standing;
  const Terms& terms;
  bool is_unproven;  // only the latch proves this hold: the owner may have the lock by another one
  bool is_known;     // to other processes, which may give this hold back, too
  std::optional<Key> outer;  // the latch that proves the hold of a value that this one shares
  const std::string& taken;  // as Channel::taken
};

// The scripts of every layout have the same replies.
struct Layout {
  Kind kind = Kind::reentrant;
  KeyNames keys;
  Channel channel{};  // where a release is told

  std::string_view owner_ending{};  // that an owner's field may have, and is not part of it
  bool queues = false;              // waiters have places, and each is called on its own channel
  bool is_string = false;           // the lock is a string, whose value is the owner
  bool is_owner_shared = false;     // somebody else may have the lock as the same owner
  Milliseconds longest_renewal_interval = Milliseconds::max();
  const char* no_fencing = nullptr;  // why no token can be drawn, if so

  std::function<redis::ScriptCall(const Asker&, Join)> acquire{};
  // `memory`: how long the server is to remember the request.
  std::function<redis::ScriptCall(const Asker&, Milliseconds memory)> reenter{};
  // A lease of 0 only asks whose the lock is.
  std::function<redis::ScriptCall(const Asker&, Milliseconds lease)> renew{};
  std::function<redis::ScriptCall(const Asker&, Milliseconds memory, Milliseconds keep, Wake)>
      release{};
};

// What lua/include/releasing.lua is told of a hold.
using StandingWord = decltype(lua::release::Call::standing);
[[nodiscard]] inline StandingWord standing_word(const Asker& asker) {
  if (asker.standing == Hold::Standing::nested) return "nested";
  if (asker.is_unproven) return "unproven";
  if (asker.standing == Hold::Standing::reentered) return "reentered";
  return "granted";
}

// Returns what a script that takes a lock is to do about a token.
[[nodiscard]] inline decltype(lua::acquire::Call::fencing) fencing_word(Fencing fencing) {
  if (fencing == Fencing::off) return "off";
  return fencing == Fencing::on ? decltype(lua::acquire::Call::fencing)("draw") : "peek";
}

// Returns the key of the token, unless there is to be none: no other run needs a right to it.
[[nodiscard]] inline std::optional<Key> token_key(const Asker& asker) {
  return asker.terms.fencing == Fencing::off ? std::nullopt : std::optional(asker.keys.token);
}

// Returns the channel on which the owner waits, or nothing if it does not wait.
[[nodiscard]] inline std::optional<Key> waiting_channel(const Asker& asker, Join join) {
  return join == Join::no ? std::nullopt : std::optional(asker.keys.channel);
}

// Returns what a request tells the others who wait, or nothing.
[[nodiscard]] inline std::string taken_word(const Asker& asker, Join join) {
  return join == Join::called ? asker.taken : "";
}

}  // namespace rlock::lock
