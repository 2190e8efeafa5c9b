// KindOperations says how a server keeps a kind of lock: everything in which the kinds differ.
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
struct RequestContext {
  const KeyNames& keys;
  const std::string& owner;
  Key latch;                 // the key that remembers this hold's requests
  const std::string& about;  // what the side key stores about the owner (JSON)
  Hold::Standing standing;
  const Terms& terms;
  bool is_unproven;  // only the latch proves this hold, because another may have the same owner
  bool is_known;     // other processes know this hold, and may release it, too
  const std::string& taken;  // as Channel::taken
};

// The scripts of every kind have the same replies.
struct KindOperations {
  Kind kind = Kind::reentrant;
  KeyNames keys;
  Channel channel{};  // where a release is published

  std::string_view owner_ending{};  // an owner's field may end so, the owner does not
  Milliseconds longest_renewal_interval = Milliseconds::max();

  std::function<redis::ScriptCall(const RequestContext&, Join)> acquire{};
  // `memory`: how long the server remembers the request.
  std::function<redis::ScriptCall(const RequestContext&, Milliseconds memory)> reenter{};
  // A lease of 0 only asks whether the owner holds the lock.
  std::function<redis::ScriptCall(const RequestContext&, Milliseconds lease)> renew{};
  std::function<redis::ScriptCall(const RequestContext&, Milliseconds memory, Milliseconds keep,
                                  Wake)>
      release{};
};

// The standing of a hold, as an argument of lua/include/releasing.lua.
using StandingWord = decltype(lua::release::Call::standing);
[[nodiscard]] inline StandingWord standing_word(const RequestContext& context) {
  if (context.standing == Hold::Standing::nested) return "nested";
  if (context.is_unproven) return "unproven";
  if (context.standing == Hold::Standing::reentered) return "reentered";
  return "granted";
}

// Returns how a script that takes a lock handles the token.
[[nodiscard]] inline decltype(lua::acquire::Call::fencing) fencing_word(Fencing fencing) {
  if (fencing == Fencing::off) return "off";
  return fencing == Fencing::on ? decltype(lua::acquire::Call::fencing)("draw") : "peek";
}

// Returns the key of the token counter, or nothing if no token is wanted: then the run needs no
// right to that key.
[[nodiscard]] inline std::optional<Key> token_key(const RequestContext& context) {
  return context.terms.fencing == Fencing::off ? std::nullopt : std::optional(context.keys.token);
}

// Returns the channel on which the owner waits, or nothing if the owner does not wait.
[[nodiscard]] inline std::optional<Key> waiting_channel(const RequestContext& context, Join join) {
  return join == Join::no ? std::nullopt : std::optional(context.keys.channel);
}

// Returns the message that the request publishes to the other waiters, or "".
[[nodiscard]] inline std::string taken_word(const RequestContext& context, Join join) {
  return join == Join::called ? context.taken : "";
}

}  // namespace rlock::lock
