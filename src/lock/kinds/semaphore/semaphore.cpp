#include "lock/kinds/semaphore/semaphore.hpp"

#include "lua_scripts.hpp"

namespace rlock::lock {

Layout semaphore_layout(const std::string& name, int permits) {
  Layout layout{.kind = Kind::semaphore, .keys = KeyNames(name)};
  layout.channel = layout.keys.semaphore_channel;
  layout.no_fencing = "not with --permits: the newest token would shut out the other holders";
  layout.acquire_script = &lua::acquire_semaphore::script;
  layout.acquire = [permits](const KeyNames& keys, Join) -> Layout::Additions {
    return {{keys.permits}, {std::to_string(permits), keys.semaphore_channel}};
  };
  layout.reenter = [](const Asker& asker, Milliseconds memory) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return {lua::reenter_semaphore::script,
            {{keys.lock, asker.latch, keys.info, keys.permits},
             {to_argument(asker.lease), asker.owner, to_argument(memory)}}};
  };
  layout.renew = [](const Asker& asker, Milliseconds lease) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return {lua::renew_semaphore::script,
            {{keys.permits}, {to_argument(lease), asker.owner, keys.info, keys.lock}}};
  };
  layout.release = [](const Asker& asker, Milliseconds memory, Milliseconds keep,
                      Wake) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return {lua::release_semaphore::script,
            {{keys.lock, keys.info, asker.latch, keys.permits},
             {asker.owner, to_argument(memory), to_argument(keep), asker.standing,
              keys.semaphore_channel, asker.is_known ? "1" : ""}}};
  };
  return layout;
}

}  // namespace rlock::lock
