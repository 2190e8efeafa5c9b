#include "lock/kinds/plain.hpp"

#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

// With several servers, a re-entry draws no token. It uses the token that the side key has noted.
decltype(lua::reenter::Call::fencing) reentry_word(Fencing fencing) {
  if (fencing == Fencing::off) return "off";
  return fencing == Fencing::on ? decltype(lua::reenter::Call::fencing)("draw") : "noted";
}

}  // namespace

ReleaseCall plain_release(Milliseconds added_wait) {
  return [added_wait](const Asker& asker, Milliseconds memory, Milliseconds keep, Wake wake) {
    return lua::release::Call{.lock = asker.keys.lock,
                              .channel = asker.keys.channel,
                              .info = asker.keys.info,
                              .latch = asker.latch,
                              .queue = asker.keys.queue,
                              .scores = asker.keys.scores,
                              .owner = asker.owner,
                              .memory = memory,
                              .keep = keep,
                              .wait = added_wait,
                              .standing = standing_word(asker),
                              .wakes = wake == Wake::yes,
                              .is_shared = asker.is_known};
  };
}

Layout plain_layout(const std::string& name) {
  Layout layout{.keys = KeyNames(name)};
  layout.channel = {layout.keys.channel, taken_message(name)};
  layout.acquire = [](const Asker& asker, Join join) {
    return lua::acquire::Call{.lock = asker.keys.lock,
                              .info = asker.keys.info,
                              .latch = asker.latch,
                              .queue = asker.keys.queue,
                              .token = token_key(asker),
                              .lease = asker.terms.lease,
                              .owner = asker.owner,
                              .about_json = asker.about,
                              .fencing = fencing_word(asker.terms.fencing),
                              .restart_delay = asker.terms.restart_delay,
                              .channel = waiting_channel(asker, join),
                              .taken = taken_word(asker, join)};
  };
  layout.reenter = [](const Asker& asker, Milliseconds memory) {
    return lua::reenter::Call{.lock = asker.keys.lock,
                              .latch = asker.latch,
                              .info = asker.keys.info,
                              .token = token_key(asker),
                              .lease = asker.terms.lease,
                              .owner = asker.owner,
                              .memory = memory,
                              .fencing = reentry_word(asker.terms.fencing)};
  };
  layout.renew = [](const Asker& asker, Milliseconds lease) {
    return lua::renew::Call{.lock = asker.keys.lock,
                            .lease = lease,
                            .owner = asker.owner,
                            .info = asker.keys.info,
                            .latch = asker.is_unproven ? std::optional(asker.latch) : std::nullopt};
  };
  layout.release = plain_release(Milliseconds(0));
  return layout;
}

}  // namespace rlock::lock
