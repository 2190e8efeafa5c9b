#include "lock/kinds/semaphore/semaphore.hpp"

namespace rlock::lock {

Layout semaphore_layout(const std::string& name, int permits) {
  Layout layout{.kind = Kind::semaphore, .keys = KeyNames(name)};
  layout.channel = {layout.keys.semaphore_channel, k_none_left_message};
  layout.no_fencing =
      "a semaphore has no fencing tokens: the newest one would shut out the other holders";
  layout.acquire = [permits](const Asker& asker, const Terms& terms,
                             Join join) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::acquire_semaphore::Call{.lock = keys.lock,
                                        .info = keys.info,
                                        .latch = asker.latch,
                                        .permits = keys.permits,
                                        .lease = terms.lease,
                                        .owner = asker.owner,
                                        .about_json = asker.about,
                                        .most = permits,
                                        .channel = keys.semaphore_channel,
                                        .taken = taken_word(asker, join)};
  };
  layout.reenter = [](const Asker& asker, Milliseconds memory) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::reenter_semaphore::Call{.lock = keys.lock,
                                        .latch = asker.latch,
                                        .info = keys.info,
                                        .permits = keys.permits,
                                        .lease = asker.lease,
                                        .owner = asker.owner,
                                        .memory = memory};
  };
  layout.renew = [](const Asker& asker, Milliseconds lease) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::renew_semaphore::Call{.permits = keys.permits,
                                      .lease = lease,
                                      .owner = asker.owner,
                                      .info = keys.info,
                                      .lock = keys.lock};
  };
  layout.release = [](const Asker& asker, Milliseconds memory, Milliseconds keep,
                      Wake) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::release_semaphore::Call{.lock = keys.lock,
                                        .info = keys.info,
                                        .latch = asker.latch,
                                        .permits = keys.permits,
                                        .owner = asker.owner,
                                        .memory = memory,
                                        .keep = keep,
                                        .standing = standing_word(asker),
                                        .channel = keys.semaphore_channel,
                                        .is_shared = asker.is_known};
  };
  return layout;
}

}  // namespace rlock::lock
