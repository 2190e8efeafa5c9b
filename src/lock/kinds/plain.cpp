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
  return [added_wait](const RequestContext& context, Milliseconds memory, Milliseconds keep,
                      Wake wake) {
    return lua::release::Call{.lock = context.keys.lock,
                              .channel = context.keys.channel,
                              .info = context.keys.info,
                              .latch = context.latch,
                              .queue = context.keys.queue,
                              .scores = context.keys.scores,
                              .owner = context.owner,
                              .memory = memory,
                              .keep = keep,
                              .wait = added_wait,
                              .standing = standing_word(context),
                              .wakes = wake == Wake::yes,
                              .is_shared = context.is_known};
  };
}

KindOperations plain_operations(const std::string& name) {
  KindOperations operations{.keys = KeyNames(name)};
  operations.channel = {operations.keys.channel, taken_message(name)};
  operations.acquire = [](const RequestContext& context, Join join) {
    return lua::acquire::Call{.lock = context.keys.lock,
                              .info = context.keys.info,
                              .latch = context.latch,
                              .queue = context.keys.queue,
                              .token = token_key(context),
                              .lease = context.terms.lease,
                              .owner = context.owner,
                              .about_json = context.about,
                              .fencing = fencing_word(context.terms.fencing),
                              .restart_delay = context.terms.restart_delay,
                              .channel = waiting_channel(context, join),
                              .taken = taken_word(context, join)};
  };
  operations.reenter = [](const RequestContext& context, Milliseconds memory) {
    return lua::reenter::Call{.lock = context.keys.lock,
                              .latch = context.latch,
                              .info = context.keys.info,
                              .token = token_key(context),
                              .lease = context.terms.lease,
                              .owner = context.owner,
                              .memory = memory,
                              .fencing = reentry_word(context.terms.fencing)};
  };
  operations.renew = [](const RequestContext& context, Milliseconds lease) {
    return lua::renew::Call{
        .lock = context.keys.lock,
        .lease = lease,
        .owner = context.owner,
        .info = context.keys.info,
        .latch = context.is_unproven ? std::optional(context.latch) : std::nullopt};
  };
  operations.release = plain_release(Milliseconds(0));
  return operations;
}

}  // namespace rlock::lock
