#include "lock/kinds/semaphore.hpp"

namespace rlock::lock {

Layout semaphore_layout(const std::string& name, int permits) {
  Layout layout{.kind = Kind::semaphore, .keys = KeyNames(name)};
  layout.channel = {layout.keys.semaphore_channel, k_none_left_message};
  layout.acquire = [permits](const Asker& asker, Join join) {
    return lua::acquire_semaphore::Call{.lock = asker.keys.lock,
                                        .info = asker.keys.info,
                                        .latch = asker.latch,
                                        .permits = asker.keys.permits,
                                        .lease = asker.terms.lease,
                                        .owner = asker.owner,
                                        .about_json = asker.about,
                                        .most = permits,
                                        .channel = asker.keys.semaphore_channel,
                                        .taken = taken_word(asker, join)};
  };
  layout.reenter = [](const Asker& asker, Milliseconds memory) {
    return lua::reenter_semaphore::Call{.lock = asker.keys.lock,
                                        .latch = asker.latch,
                                        .info = asker.keys.info,
                                        .permits = asker.keys.permits,
                                        .lease = asker.terms.lease,
                                        .owner = asker.owner,
                                        .memory = memory};
  };
  layout.renew = [](const Asker& asker, Milliseconds lease) {
    return lua::renew_semaphore::Call{.permits = asker.keys.permits,
                                      .lease = lease,
                                      .owner = asker.owner,
                                      .info = asker.keys.info,
                                      .lock = asker.keys.lock};
  };
  layout.release = [](const Asker& asker, Milliseconds memory, Milliseconds keep, Wake) {
    return lua::release_semaphore::Call{.lock = asker.keys.lock,
                                        .info = asker.keys.info,
                                        .latch = asker.latch,
                                        .permits = asker.keys.permits,
                                        .owner = asker.owner,
                                        .memory = memory,
                                        .keep = keep,
                                        .standing = standing_word(asker),
                                        .channel = asker.keys.semaphore_channel,
                                        .is_shared = asker.is_known};
  };
  return layout;
}

}  // namespace rlock::lock
