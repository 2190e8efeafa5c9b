#include "lock/kinds/fair/fair.hpp"

#include "lock/kinds/plain/plain.hpp"

namespace rlock::lock {

Layout fair_layout(const std::string& name, Milliseconds wait) {
  Layout layout = plain_layout(name);
  layout.kind = Kind::fair;
  layout.queues = true;
  layout.acquire = [wait](const Asker& asker, const Terms& terms, Join join) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::acquire_fair::Call{.lock = keys.lock,
                                   .info = keys.info,
                                   .latch = asker.latch,
                                   .queue = keys.queue,
                                   .scores = keys.scores,
                                   .token = token_key(keys, terms.fencing),
                                   .lease = terms.lease,
                                   .owner = asker.owner,
                                   .about_json = asker.about,
                                   .fencing = fencing_word(terms.fencing),
                                   .channel = keys.channel,
                                   .wait = join == Join::no ? Milliseconds(0) : wait};
  };
  layout.release = plain_release(wait);
  return layout;
}

}  // namespace rlock::lock
