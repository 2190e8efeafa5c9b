#include "lock/kinds/semaphore.hpp"

namespace rlock::lock {

KindOperations semaphore_operations(const std::string& name, int permits) {
  KindOperations operations{.kind = Kind::semaphore, .keys = KeyNames(name)};
  operations.channel = {operations.keys.semaphore_channel, k_none_left_message};
  operations.acquire = [permits](const RequestContext& context, Join join) {
    return lua::acquire_semaphore::Call{.lock = context.keys.lock,
                                        .info = context.keys.info,
                                        .latch = context.latch,
                                        .permits = context.keys.permits,
                                        .lease = context.terms.lease,
                                        .owner = context.owner,
                                        .about_json = context.about,
                                        .most = permits,
                                        .channel = context.keys.semaphore_channel,
                                        .taken = taken_word(context, join)};
  };
  operations.reenter = [](const RequestContext& context, Milliseconds memory) {
    return lua::reenter_semaphore::Call{.lock = context.keys.lock,
                                        .latch = context.latch,
                                        .info = context.keys.info,
                                        .permits = context.keys.permits,
                                        .lease = context.terms.lease,
                                        .owner = context.owner,
                                        .memory = memory};
  };
  operations.renew = [](const RequestContext& context, Milliseconds lease) {
    return lua::renew_semaphore::Call{.permits = context.keys.permits,
                                      .lease = lease,
                                      .owner = context.owner,
                                      .info = context.keys.info,
                                      .lock = context.keys.lock};
  };
  operations.release = [](const RequestContext& context, Milliseconds memory, Milliseconds keep,
                          Wake) {
    return lua::release_semaphore::Call{.lock = context.keys.lock,
                                        .info = context.keys.info,
                                        .latch = context.latch,
                                        .permits = context.keys.permits,
                                        .owner = context.owner,
                                        .memory = memory,
                                        .keep = keep,
                                        .standing = standing_word(context),
                                        .channel = context.keys.semaphore_channel,
                                        .is_shared = context.is_known};
  };
  return operations;
}

}  // namespace rlock::lock
