#include "lock/kinds/simple/simple.hpp"

#include "lock/kinds/plain/plain.hpp"

namespace rlock::lock {

Layout simple_layout(const std::string& name, Value value) {
  Layout layout = plain_layout(name);
  layout.kind = Kind::simple;
  layout.is_string = true;
  layout.is_owner_shared = value == Value::given;
  layout.acquire = [value](const Asker& asker, const Terms& terms, Join join) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::acquire_simple::Call{.lock = keys.lock,
                                     .info = keys.info,
                                     .latch = asker.latch,
                                     .token = token_key(keys, terms.fencing),
                                     .lease = terms.lease,
                                     .owner = asker.owner,
                                     .about_json = asker.about,
                                     .fencing = fencing_word(terms.fencing),
                                     .restart_delay = terms.restart_delay,
                                     .is_unique = value == Value::fresh,
                                     .permits = keys.permits,
                                     .channel = waiting_channel(keys, join),
                                     .taken = taken_word(asker, join)};
  };
  return layout;
}

}  // namespace rlock::lock
