#include "lock/kinds/read_write.hpp"

namespace rlock::lock {
namespace {

using SideWord = decltype(lua::release_read_write::Call::side);

constexpr Milliseconds k_longest_reader_interval{10'000};

redis::ScriptCall acquire_read(const RequestContext& context, Join /*join*/) {
  return lua::acquire_read::Call{.lock = context.keys.lock,
                                 .info = context.keys.info,
                                 .latch = context.latch,
                                 .lease = context.terms.lease,
                                 .owner = context.owner,
                                 .about_json = context.about,
                                 .prefix = context.keys.reader_prefix};
}

redis::ScriptCall acquire_write(const RequestContext& context, Join /*join*/) {
  return lua::acquire_write::Call{.lock = context.keys.lock,
                                  .info = context.keys.info,
                                  .latch = context.latch,
                                  .token = token_key(context),
                                  .lease = context.terms.lease,
                                  .owner = context.owner,
                                  .about_json = context.about,
                                  .fencing = fencing_word(context.terms.fencing),
                                  .prefix = context.keys.reader_prefix};
}

}  // namespace

KindOperations read_write_operations(const std::string& name, Kind side) {
  KindOperations operations{.kind = side, .keys = KeyNames(name)};
  operations.channel = {operations.keys.read_write_channel};
  operations.owner_ending = ":write";
  if (side == Kind::read) operations.longest_renewal_interval = k_longest_reader_interval;
  operations.acquire = side == Kind::read ? acquire_read : acquire_write;
  const SideWord word = side == Kind::read ? SideWord("read") : "write";
  operations.reenter = [word](const RequestContext& context, Milliseconds memory) {
    using FencingWord = decltype(lua::reenter_read_write::Call::fencing);
    return lua::reenter_read_write::Call{
        .lock = context.keys.lock,
        .latch = context.latch,
        .info = context.keys.info,
        .token = token_key(context),
        .lease = context.terms.lease,
        .owner = context.owner,
        .memory = memory,
        .fencing = context.terms.fencing == Fencing::off ? FencingWord("off") : "draw",
        .prefix = context.keys.reader_prefix,
        .side = word};
  };
  operations.renew = [word](const RequestContext& context, Milliseconds lease) {
    return lua::renew_read_write::Call{.lock = context.keys.lock,
                                       .lease = lease,
                                       .owner = context.owner,
                                       .info = context.keys.info,
                                       .prefix = context.keys.reader_prefix,
                                       .side = word};
  };
  operations.release = [word](const RequestContext& context, Milliseconds memory, Milliseconds keep,
                              Wake) {
    return lua::release_read_write::Call{.lock = context.keys.lock,
                                         .channel = context.keys.read_write_channel,
                                         .info = context.keys.info,
                                         .latch = context.latch,
                                         .owner = context.owner,
                                         .memory = memory,
                                         .keep = keep,
                                         .prefix = context.keys.reader_prefix,
                                         .standing = standing_word(context),
                                         .side = word,
                                         .is_shared = context.is_known};
  };
  return operations;
}

}  // namespace rlock::lock
