#include "lock/kinds/read_write.hpp"

namespace rlock::lock {
namespace {

using SideWord = decltype(lua::release_read_write::Call::side);

constexpr Milliseconds k_longest_reader_interval{10'000};

redis::ScriptCall acquire_read(const Asker& asker, Join /*join*/) {
  return lua::acquire_read::Call{.lock = asker.keys.lock,
                                 .info = asker.keys.info,
                                 .latch = asker.latch,
                                 .lease = asker.terms.lease,
                                 .owner = asker.owner,
                                 .about_json = asker.about,
                                 .prefix = asker.keys.reader_prefix};
}

redis::ScriptCall acquire_write(const Asker& asker, Join /*join*/) {
  return lua::acquire_write::Call{.lock = asker.keys.lock,
                                  .info = asker.keys.info,
                                  .latch = asker.latch,
                                  .token = token_key(asker),
                                  .lease = asker.terms.lease,
                                  .owner = asker.owner,
                                  .about_json = asker.about,
                                  .fencing = fencing_word(asker.terms.fencing),
                                  .prefix = asker.keys.reader_prefix};
}

}  // namespace

Layout read_write_layout(const std::string& name, Kind side) {
  Layout layout{.kind = side, .keys = KeyNames(name)};
  layout.channel = {layout.keys.read_write_channel};
  layout.owner_ending = ":write";
  if (side == Kind::read) layout.longest_renewal_interval = k_longest_reader_interval;
  layout.acquire = side == Kind::read ? acquire_read : acquire_write;
  const SideWord word = side == Kind::read ? SideWord("read") : "write";
  layout.reenter = [word](const Asker& asker, Milliseconds memory) {
    using FencingWord = decltype(lua::reenter_read_write::Call::fencing);
    return lua::reenter_read_write::Call{
        .lock = asker.keys.lock,
        .latch = asker.latch,
        .info = asker.keys.info,
        .token = token_key(asker),
        .lease = asker.terms.lease,
        .owner = asker.owner,
        .memory = memory,
        .fencing = asker.terms.fencing == Fencing::off ? FencingWord("off") : "draw",
        .prefix = asker.keys.reader_prefix,
        .side = word};
  };
  layout.renew = [word](const Asker& asker, Milliseconds lease) {
    return lua::renew_read_write::Call{.lock = asker.keys.lock,
                                       .lease = lease,
                                       .owner = asker.owner,
                                       .info = asker.keys.info,
                                       .prefix = asker.keys.reader_prefix,
                                       .side = word};
  };
  layout.release = [word](const Asker& asker, Milliseconds memory, Milliseconds keep, Wake) {
    return lua::release_read_write::Call{.lock = asker.keys.lock,
                                         .channel = asker.keys.read_write_channel,
                                         .info = asker.keys.info,
                                         .latch = asker.latch,
                                         .owner = asker.owner,
                                         .memory = memory,
                                         .keep = keep,
                                         .prefix = asker.keys.reader_prefix,
                                         .standing = standing_word(asker),
                                         .side = word,
                                         .is_shared = asker.is_known};
  };
  return layout;
}

}  // namespace rlock::lock
