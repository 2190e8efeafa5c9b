#include "lock/kinds/read_write/read_write.hpp"

#include <utility>

#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

constexpr Milliseconds k_longest_reader_interval{10'000};

}  // namespace

Layout read_write_layout(const std::string& name, Kind side) {
  Layout layout{.kind = side, .keys = KeyNames(name)};
  layout.channel = layout.keys.read_write_channel;
  layout.owner_ending = ":write";
  if (side == Kind::read) {
    layout.longest_renewal_interval = k_longest_reader_interval;
    layout.no_fencing =
        "not for a reader: the token of the next reader would make this one's old while both have "
        "the lock";
  }
  layout.acquire_script =
      side == Kind::read ? &lua::acquire_read::script : &lua::acquire_write::script;
  layout.acquire = [](const KeyNames& keys, Join) -> Layout::Additions {
    return {{}, {keys.reader_prefix}};
  };
  layout.reenter = [side](const Asker& asker, Milliseconds memory) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    const bool fences = asker.fencing != Fencing::off;
    redis::ScriptArgs call{{keys.lock, asker.latch, keys.info},
                           {to_argument(asker.lease), asker.owner, to_argument(memory),
                            fences ? "1" : "0", keys.reader_prefix, kind_name(side)}};
    if (fences) call.keys.push_back(keys.token);
    return {lua::reenter_read_write::script, std::move(call)};
  };
  layout.renew = [side](const Asker& asker, Milliseconds lease) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return {lua::renew_read_write::script,
            {{keys.lock},
             {to_argument(lease), asker.owner, keys.info, keys.reader_prefix, kind_name(side)}}};
  };
  layout.release = [side](const Asker& asker, Milliseconds memory, Milliseconds keep,
                          Wake) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return {lua::release_read_write::script,
            {{keys.lock, keys.read_write_channel, keys.info, asker.latch},
             {asker.owner, to_argument(memory), to_argument(keep), keys.reader_prefix,
              asker.standing, kind_name(side), asker.is_known ? "1" : ""}}};
  };
  return layout;
}

}  // namespace rlock::lock
