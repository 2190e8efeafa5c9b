#include "lock/kinds/fair.hpp"

#include "lock/kinds/plain.hpp"

namespace rlock::lock {

Layout fair_layout(const std::string& name, Milliseconds wait) {
  Layout layout = plain_layout(name);
  layout.kind = Kind::fair;
  layout.acquire = [wait](const Asker& asker, Join join) {
    return lua::acquire_fair::Call{.lock = asker.keys.lock,
                                   .info = asker.keys.info,
                                   .latch = asker.latch,
                                   .queue = asker.keys.queue,
                                   .scores = asker.keys.scores,
                                   .token = token_key(asker),
                                   .lease = asker.terms.lease,
                                   .owner = asker.owner,
                                   .about_json = asker.about,
                                   .fencing = fencing_word(asker.terms.fencing),
                                   .channel = asker.keys.channel,
                                   .wait = join == Join::no ? Milliseconds(0) : wait};
  };
  layout.release = plain_release(wait);
  return layout;
}

}  // namespace rlock::lock
