#include "lock/kinds/plain/plain.hpp"

#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

// Of several servers, none draws a token for a hold that comes later.
decltype(lua::reenter::Call::fencing) reentry_word(Fencing fencing) {
  if (fencing == Fencing::off) return "off";
  return fencing == Fencing::on ? decltype(lua::reenter::Call::fencing)("draw") : "noted";
}

}  // namespace

ReleaseCall plain_release(Milliseconds added_wait) {
  return [added_wait](const Asker& asker, Milliseconds memory, Milliseconds keep,
                      Wake wake) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::release::Call{.lock = keys.lock,
                              .channel = keys.channel,
                              .info = keys.info,
                              .latch = asker.latch,
                              .queue = keys.queue,
                              .scores = keys.scores,
                              .owner = asker.owner,
                              .memory = memory,
                              .keep = keep,
                              .wait = added_wait,
                              .standing = standing_word(asker),
                              .wakes = wake == Wake::yes,
                              .is_shared = asker.is_known,
                              .outer = asker.outer};
  };
}

Layout plain_layout(const std::string& name) {
  Layout layout{.keys = KeyNames(name)};
  layout.channel = {layout.keys.channel, taken_message(name)};
  layout.acquire = [](const Asker& asker, const Terms& terms, Join join) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::acquire::Call{.lock = keys.lock,
                              .info = keys.info,
                              .latch = asker.latch,
                              .queue = keys.queue,
                              .token = token_key(keys, terms.fencing),
                              .lease = terms.lease,
                              .owner = asker.owner,
                              .about_json = asker.about,
                              .fencing = fencing_word(terms.fencing),
                              .restart_delay = terms.restart_delay,
                              .channel = waiting_channel(keys, join),
                              .taken = taken_word(asker, join)};
  };
  layout.reenter = [](const Asker& asker, Milliseconds memory) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::reenter::Call{.lock = keys.lock,
                              .latch = asker.latch,
                              .info = keys.info,
                              .token = token_key(keys, asker.fencing),
                              .lease = asker.lease,
                              .owner = asker.owner,
                              .memory = memory,
                              .fencing = reentry_word(asker.fencing),
                              .outer = asker.outer};
  };
  layout.renew = [](const Asker& asker, Milliseconds lease) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::renew::Call{.lock = keys.lock,
                            .lease = lease,
                            .owner = asker.owner,
                            .info = keys.info,
                            .latch = asker.is_unproven ? std::optional(asker.latch) : asker.outer};
  };
  layout.release = plain_release(Milliseconds(0));
  return layout;
}

}  // namespace rlock::lock
