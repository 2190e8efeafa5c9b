#include "lock/kinds/simple.hpp"

#include "lock/kinds/plain.hpp"

namespace rlock::lock {

KindOperations simple_operations(const std::string& name) {
  KindOperations operations = plain_operations(name);
  operations.kind = Kind::simple;
  operations.acquire = [](const RequestContext& context, Join join) {
    return lua::acquire_simple::Call{.lock = context.keys.lock,
                                     .info = context.keys.info,
                                     .latch = context.latch,
                                     .token = token_key(context),
                                     .lease = context.terms.lease,
                                     .owner = context.owner,
                                     .about_json = context.about,
                                     .fencing = fencing_word(context.terms.fencing),
                                     .restart_delay = context.terms.restart_delay,
                                     .permits = context.keys.permits,
                                     .channel = waiting_channel(context, join),
                                     .taken = taken_word(context, join)};
  };
  return operations;
}

}  // namespace rlock::lock
