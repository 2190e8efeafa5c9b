#include "lock/kinds/plain/plain.hpp"

#include <utility>

#include "lua_scripts.hpp"

namespace rlock::lock {

ReleaseCall plain_release(Milliseconds added_wait) {
  return [added_wait](const Asker& asker, Milliseconds memory, Milliseconds keep,
                      Wake wake) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return {lua::release::script,
            {{keys.lock, keys.channel, keys.info, asker.latch, keys.queue, keys.timeout},
             {asker.owner, to_argument(memory), to_argument(keep), to_argument(added_wait),
              asker.standing, wake == Wake::yes ? "1" : "0", asker.is_known ? "1" : ""}}};
  };
}

Layout plain_layout(const std::string& name) {
  Layout layout{.keys = KeyNames(name)};
  layout.channel = layout.keys.channel;
  layout.acquire_script = &lua::acquire::script;
  layout.acquire = [](const KeyNames& keys, Join) -> Layout::Additions {
    return {{keys.queue}, {}};
  };
  layout.reenter = [](const Asker& asker, Milliseconds memory) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    const char* fence = asker.fencing == Fencing::on    ? "1"
                        : asker.fencing == Fencing::off ? "0"
                                                        : "noted";
    redis::ScriptArgs call{{keys.lock, asker.latch, keys.info},
                           {to_argument(asker.lease), asker.owner, to_argument(memory), fence}};
    if (asker.fencing != Fencing::off) call.keys.push_back(keys.token);
    return {lua::reenter::script, std::move(call)};
  };
  layout.renew = [](const Asker& asker, Milliseconds lease) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    const bool is_hold = asker.is_latched && asker.is_unproven;
    return lua::renew::Call{.lock = keys.lock,
                            .lease = lease,
                            .owner = asker.owner,
                            .info = keys.info,
                            .latch = is_hold ? std::optional(asker.latch) : std::nullopt};
  };
  layout.release = plain_release(Milliseconds(0));
  return layout;
}

}  // namespace rlock::lock
