#include "lock/kinds/read_write/read_write.hpp"

namespace rlock::lock {
namespace {

using SideWord = decltype(lua::release_read_write::Call::side);

constexpr Milliseconds k_longest_reader_interval{10'000};

redis::ScriptCall acquire_read(const Asker& asker, const Terms& terms, Join /*join*/) {
  const KeyNames& keys = asker.keys;
  return lua::acquire_read::Call{.lock = keys.lock,
                                 .info = keys.info,
                                 .latch = asker.latch,
                                 .lease = terms.lease,
                                 .owner = asker.owner,
                                 .about_json = asker.about,
                                 .prefix = keys.reader_prefix};
}

redis::ScriptCall acquire_write(const Asker& asker, const Terms& terms, Join /*join*/) {
  const KeyNames& keys = asker.keys;
  return lua::acquire_write::Call{.lock = keys.lock,
                                  .info = keys.info,
                                  .latch = asker.latch,
                                  .token = token_key(keys, terms.fencing),
                                  .lease = terms.lease,
                                  .owner = asker.owner,
                                  .about_json = asker.about,
                                  .fencing = fencing_word(terms.fencing),
                                  .prefix = keys.reader_prefix};
}

}  // namespace

Layout read_write_layout(const std::string& name, Kind side) {
  Layout layout{.kind = side, .keys = KeyNames(name)};
  layout.channel = {layout.keys.read_write_channel};
  layout.owner_ending = ":write";
  if (side == Kind::read) {
    layout.longest_renewal_interval = k_longest_reader_interval;
    layout.no_fencing =
        "a reader has no fencing token: the next reader's token would outdate it while both hold "
        "the lock";
  }
  layout.acquire = side == Kind::read ? acquire_read : acquire_write;
  const SideWord word = side == Kind::read ? SideWord("read") : "write";
  layout.reenter = [word](const Asker& asker, Milliseconds memory) -> redis::ScriptCall {
    using FencingWord = decltype(lua::reenter_read_write::Call::fencing);
    const KeyNames& keys = asker.keys;
    return lua::reenter_read_write::Call{
        .lock = keys.lock,
        .latch = asker.latch,
        .info = keys.info,
        .token = token_key(keys, asker.fencing),
        .lease = asker.lease,
        .owner = asker.owner,
        .memory = memory,
        .fencing = asker.fencing == Fencing::off ? FencingWord("off") : "draw",
        .prefix = keys.reader_prefix,
        .side = word};
  };
  layout.renew = [word](const Asker& asker, Milliseconds lease) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::renew_read_write::Call{.lock = keys.lock,
                                       .lease = lease,
                                       .owner = asker.owner,
                                       .info = keys.info,
                                       .prefix = keys.reader_prefix,
                                       .side = word};
  };
  layout.release = [word](const Asker& asker, Milliseconds memory, Milliseconds keep,
                          Wake) -> redis::ScriptCall {
    const KeyNames& keys = asker.keys;
    return lua::release_read_write::Call{.lock = keys.lock,
                                         .channel = keys.read_write_channel,
                                         .info = keys.info,
                                         .latch = asker.latch,
                                         .owner = asker.owner,
                                         .memory = memory,
                                         .keep = keep,
                                         .prefix = keys.reader_prefix,
                                         .standing = standing_word(asker),
                                         .side = word,
                                         .is_shared = asker.is_known};
  };
  return layout;
}

}  // namespace rlock::lock
