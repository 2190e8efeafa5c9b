#include "lock/kinds/plain/plain.hpp"

#include <utility>

#include "lua_scripts.hpp"

namespace rlock::lock {

ReleaseCall plain_release(const KeyNames& keys, Milliseconds added_wait) {
  return [keys, added_wait](const Asker& asker, Milliseconds memory, Milliseconds keep,
                            Wake wake) -> Question {
    return {lua::release,
            {{keys.lock, keys.channel, keys.info, asker.latch, keys.queue, keys.timeout},
             {asker.owner, to_argument(memory), to_argument(keep), to_argument(added_wait),
              asker.standing, wake == Wake::yes ? "1" : "0", asker.is_known ? "1" : ""}}};
  };
}

Layout plain_layout(const std::string& name) {
  const KeyNames keys(name);
  Layout layout{.kind = Kind::reentrant, .keys = keys, .channel = keys.channel};
  layout.acquire_script = &lua::acquire;
  layout.acquire = [keys](Join) -> Layout::Additions { return {{keys.queue}, {}}; };
  layout.reenter = [keys](const Asker& asker, Milliseconds memory) -> Question {
    const char* fence = asker.fencing == Fencing::on    ? "1"
                        : asker.fencing == Fencing::off ? "0"
                                                        : "noted";
    redis::ScriptArgs call{{keys.lock, asker.latch, keys.info},
                           {to_argument(asker.lease), asker.owner, to_argument(memory), fence}};
    if (asker.fencing != Fencing::off) call.keys.push_back(keys.token);
    return {lua::reenter, std::move(call)};
  };
  layout.renew = [keys](const Asker& asker, Milliseconds lease) -> Question {
    const bool is_hold = asker.is_latched && asker.is_unproven;
    return {lua::renew,
            {{keys.lock},
             {to_argument(lease), asker.owner, keys.info, is_hold ? asker.latch : std::string()}}};
  };
  layout.release = plain_release(keys, Milliseconds(0));
  return layout;
}

}  // namespace rlock::lock
