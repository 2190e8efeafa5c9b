#include "lock/kinds/fair/fair.hpp"

#include "lock/kinds/plain/plain.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {

Layout fair_layout(const std::string& name, Milliseconds wait) {
  Layout layout = plain_layout(name);
  layout.kind = Kind::fair;
  layout.queues = true;
  layout.acquire_script = &lua::acquire_fair::script;
  layout.acquire = [wait](const KeyNames& keys, Join join) -> Layout::Additions {
    return {{keys.queue, keys.timeout},
            {keys.channel, join == Join::yes ? to_argument(wait) : "0"}};
  };
  layout.release = plain_release(wait);
  return layout;
}

}  // namespace rlock::lock
