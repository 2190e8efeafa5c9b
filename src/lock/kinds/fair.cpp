#include "lock/kinds/fair.hpp"

#include "lock/kinds/plain.hpp"

namespace rlock::lock {

KindOperations fair_operations(const std::string& name, Milliseconds wait) {
  KindOperations operations = plain_operations(name);
  operations.kind = Kind::fair;
  operations.acquire = [wait](const RequestContext& context, Join join) {
    return lua::acquire_fair::Call{.lock = context.keys.lock,
                                   .info = context.keys.info,
                                   .latch = context.latch,
                                   .queue = context.keys.queue,
                                   .scores = context.keys.scores,
                                   .token = token_key(context),
                                   .lease = context.terms.lease,
                                   .owner = context.owner,
                                   .about_json = context.about,
                                   .fencing = fencing_word(context.terms.fencing),
                                   .channel = context.keys.channel,
                                   .wait = join == Join::no ? Milliseconds(0) : wait};
  };
  operations.release = plain_release(wait);
  return operations;
}

}  // namespace rlock::lock
