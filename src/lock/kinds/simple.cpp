#include "lock/kinds/simple.hpp"

#include "lock/kinds/plain.hpp"

namespace rlock::lock {

Layout simple_layout(const std::string& name) {
  Layout layout = plain_layout(name);
  layout.kind = Kind::simple;
  layout.acquire = [](const Asker& asker, Join join) {
    return lua::acquire_simple::Call{.lock = asker.keys.lock,
                                     .info = asker.keys.info,
                                     .latch = asker.latch,
                                     .token = token_key(asker),
                                     .lease = asker.terms.lease,
                                     .owner = asker.owner,
                                     .about_json = asker.about,
                                     .fencing = fencing_word(asker.terms.fencing),
                                     .restart_delay = asker.terms.restart_delay,
                                     .permits = asker.keys.permits,
                                     .channel = waiting_channel(asker, join),
                                     .taken = taken_word(asker, join)};
  };
  return layout;
}

}  // namespace rlock::lock
