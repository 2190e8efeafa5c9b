// What a layout sends for each thing that a client can ask for.
#include <algorithm>

#include "explore/layout.hpp"

namespace rlock::explore {
namespace {

const Key k_channel("redisson_lock__channel:{L}");
const Key k_rw_channel("redisson_rwlock:{L}");
const Key k_semaphore_channel("redisson_sc:{L}");
const std::string k_about = R"({"host":"h"})";
const std::string k_redissons_memory = "16000";  // of its latches, by its defaults: at least
const std::string k_redissons_wait = "300000";   // by its defaults

using Side = decltype(lua::release_read_write::Call::side);
using Standing = decltype(lua::release::Call::standing);

Side side(const Hold& hold) { return hold.writes ? Side("write") : "read"; }

Standing standing(const Hold& hold) {
  if (hold.is_outer) return "nested";
  if (hold.is_unproven) return "unproven";
  return hold.is_reentered ? Standing("reentered") : "granted";
}

Key latch(const Hold& hold) { return Key(k_latch + hold.id); }

}  // namespace

Sent sent(const redis::ScriptCall& call) {
  return {std::string(call.script.name), call.keys, call.args};
}

bool Layout::fences(const Hold& hold) const {
  return draws_tokens && !is_semaphore(kind) && (kind != Kind::read_write || hold.writes);
}

Sent Layout::take_as_redisson(const std::string& owner) const {
  if (is_fair(kind)) {
    return {
        "redisson/acquire_fair",
        {k_lock, k_queue, k_scores},
        {std::to_string(k_lease_ms), owner, k_redissons_wait, std::to_string(k_now_ms + skew_ms)}};
  }
  return {"redisson/acquire", {k_lock}, {std::to_string(k_lease_ms), owner}};
}

Sent Layout::take_read_write(const std::string& owner, const Hold& hold) const {
  const Milliseconds lease(k_lease_ms);
  const auto token = fences(hold) ? std::optional(k_token) : std::nullopt;
  using FencingWord = decltype(lua::acquire_write::Call::fencing);
  const FencingWord fencing = fences(hold) ? FencingWord("draw") : "off";
  if (hold.writes) {
    return sent(lua::acquire_write::Call{.lock = k_lock,
                                         .info = k_info,
                                         .latch = latch(hold),
                                         .token = token,
                                         .lease = lease,
                                         .owner = owner,
                                         .about_json = k_about,
                                         .fencing = fencing,
                                         .prefix = k_reader_prefix});
  }
  return sent(lua::acquire_read::Call{.lock = k_lock,
                                      .info = k_info,
                                      .latch = latch(hold),
                                      .lease = lease,
                                      .owner = owner,
                                      .about_json = k_about,
                                      .prefix = k_reader_prefix});
}

Sent Layout::take(const std::string& owner, const Hold& hold) const {
  if (hold.is_redissons) return take_as_redisson(owner);
  const Milliseconds lease(k_lease_ms);
  const auto token = fences(hold) ? std::optional(k_token) : std::nullopt;
  using FencingWord = decltype(lua::acquire::Call::fencing);
  const FencingWord fencing = fences(hold) ? FencingWord("draw") : "off";
  switch (kind) {
    case Kind::plain:
    case Kind::mixed:
      break;
    case Kind::fair:
    case Kind::mixed_fair:
      return sent(lua::acquire_fair::Call{.lock = k_lock,
                                          .info = k_info,
                                          .latch = latch(hold),
                                          .queue = k_queue,
                                          .scores = k_scores,
                                          .token = token,
                                          .lease = lease,
                                          .owner = owner,
                                          .about_json = k_about,
                                          .fencing = fencing,
                                          .channel = k_channel,
                                          .wait = Milliseconds(k_fair_wait_ms)});
    case Kind::simple:
      return sent(lua::acquire_simple::Call{.lock = k_lock,
                                            .info = k_info,
                                            .latch = latch(hold),
                                            .token = token,
                                            .lease = lease,
                                            .owner = owner,
                                            .about_json = k_about,
                                            .fencing = fencing,
                                            .restart_delay = std::nullopt,
                                            .permits = k_permits,
                                            .channel = k_channel,
                                            .taken = "2"});
    case Kind::read_write:
      return take_read_write(owner, hold);
    case Kind::semaphore:
    case Kind::service:
      return sent(lua::acquire_semaphore::Call{.lock = k_lock,
                                               .info = k_info,
                                               .latch = latch(hold),
                                               .permits = k_permits,
                                               .lease = lease,
                                               .owner = owner,
                                               .about_json = k_about,
                                               .most = permits,
                                               .channel = k_semaphore_channel,
                                               .taken = "0"});
  }
  return sent(lua::acquire::Call{.lock = k_lock,
                                 .info = k_info,
                                 .latch = latch(hold),
                                 .queue = k_queue,
                                 .token = token,
                                 .lease = lease,
                                 .owner = owner,
                                 .about_json = k_about,
                                 .fencing = fencing,
                                 .restart_delay = std::nullopt,
                                 .channel = k_channel,
                                 .taken = "2"});
}

Sent Layout::reenter(const std::string& owner, const Hold& hold) const {
  if (hold.is_redissons) return take(owner, hold);
  const Milliseconds lease(k_lease_ms);
  const Milliseconds memory(k_memory_ms);
  const auto token = fences(hold) ? std::optional(k_token) : std::nullopt;
  if (is_semaphore(kind)) {
    return sent(lua::reenter_semaphore::Call{.lock = k_lock,
                                             .latch = latch(hold),
                                             .info = k_info,
                                             .permits = k_permits,
                                             .lease = lease,
                                             .owner = owner,
                                             .memory = memory});
  }
  if (kind == Kind::read_write) {
    using FencingWord = decltype(lua::reenter_read_write::Call::fencing);
    return sent(lua::reenter_read_write::Call{.lock = k_lock,
                                              .latch = latch(hold),
                                              .info = k_info,
                                              .token = token,
                                              .lease = lease,
                                              .owner = owner,
                                              .memory = memory,
                                              .fencing = fences(hold) ? FencingWord("draw") : "off",
                                              .prefix = k_reader_prefix,
                                              .side = side(hold)});
  }
  using FencingWord = decltype(lua::reenter::Call::fencing);
  return sent(lua::reenter::Call{.lock = k_lock,
                                 .latch = latch(hold),
                                 .info = k_info,
                                 .token = token,
                                 .lease = lease,
                                 .owner = owner,
                                 .memory = memory,
                                 .fencing = fences(hold) ? FencingWord("draw") : "off"});
}

Sent Layout::renew(const std::string& owner, const Hold& hold, std::int64_t lease_ms) const {
  const Milliseconds lease(lease_ms);
  if (hold.is_redissons) return {"redisson/renew", {k_lock}, {std::to_string(lease_ms), owner}};
  if (is_semaphore(kind)) {
    return sent(lua::renew_semaphore::Call{
        .permits = k_permits, .lease = lease, .owner = owner, .info = k_info, .lock = k_lock});
  }
  if (kind == Kind::read_write) {
    return sent(lua::renew_read_write::Call{.lock = k_lock,
                                            .lease = lease,
                                            .owner = owner,
                                            .info = k_info,
                                            .prefix = k_reader_prefix,
                                            .side = side(hold)});
  }
  return sent(lua::renew::Call{
      .lock = k_lock, .lease = lease, .owner = owner, .info = k_info, .latch = std::nullopt});
}

Sent Layout::release(const std::string& owner, const Hold& hold, std::int64_t keep_ms) const {
  if (hold.is_redissons && is_fair(kind)) {
    return {"redisson/release_fair",
            {k_lock, k_queue, k_scores, k_channel, latch(hold)},
            {"0", std::to_string(k_lease_ms), owner, std::to_string(k_now_ms + skew_ms), "publish",
             k_redissons_memory}};
  }
  if (hold.is_redissons) {
    return {"redisson/release",
            {k_lock, k_channel, latch(hold)},
            {"0", std::to_string(k_lease_ms), owner, "publish", k_redissons_memory}};
  }
  const Milliseconds memory(k_memory_ms), keep(keep_ms);
  if (is_semaphore(kind)) {
    return sent(lua::release_semaphore::Call{.lock = k_lock,
                                             .info = k_info,
                                             .latch = latch(hold),
                                             .permits = k_permits,
                                             .owner = owner,
                                             .memory = memory,
                                             .keep = keep,
                                             .standing = standing(hold),
                                             .channel = k_semaphore_channel,
                                             .is_shared = hold.is_known});
  }
  if (kind == Kind::read_write) {
    return sent(lua::release_read_write::Call{.lock = k_lock,
                                              .channel = k_rw_channel,
                                              .info = k_info,
                                              .latch = latch(hold),
                                              .owner = owner,
                                              .memory = memory,
                                              .keep = keep,
                                              .prefix = k_reader_prefix,
                                              .standing = standing(hold),
                                              .side = side(hold),
                                              .is_shared = hold.is_known});
  }
  return sent(lua::release::Call{.lock = k_lock,
                                 .channel = k_channel,
                                 .info = k_info,
                                 .latch = latch(hold),
                                 .queue = k_queue,
                                 .scores = k_scores,
                                 .owner = owner,
                                 .memory = memory,
                                 .keep = keep,
                                 .wait = Milliseconds(is_fair(kind) ? k_fair_wait_ms : 0),
                                 .standing = standing(hold),
                                 .wakes = true,
                                 .is_shared = hold.is_known});
}

Sent Layout::force(const std::string& request, const Words& owners) const {
  using KindWord = decltype(lua::force_release::Call::kind);
  const Milliseconds memory(k_memory_ms);
  const Key answer(k_latch + request);
  if (is_semaphore(kind)) {
    return sent(lua::force_release_semaphore::Call{.lock = k_lock,
                                                   .info = k_info,
                                                   .latch = answer,
                                                   .permits = k_permits,
                                                   .memory = memory,
                                                   .channel = k_semaphore_channel,
                                                   .task = "only",
                                                   .expected = owners});
  }
  return sent(lua::force_release::Call{.lock = k_lock,
                                       .channel = k_channel,
                                       .info = k_info,
                                       .latch = answer,
                                       .queue = k_queue,
                                       .scores = k_scores,
                                       .rw_channel = k_rw_channel,
                                       .memory = memory,
                                       .prefix = k_reader_prefix,
                                       .semaphore_channel = k_semaphore_channel,
                                       .kind = kind == Kind::simple ? KindWord("simple") : "lock",
                                       .task = "only",
                                       .expected = owners});
}

Sent Layout::evict(const std::string& request, const std::string& waiter) const {
  return sent(lua::evict::Call{.lock = k_lock,
                               .channel = k_channel,
                               .info = k_info,
                               .latch = Key(k_latch + request),
                               .queue = k_queue,
                               .scores = k_scores,
                               .memory = Milliseconds(k_memory_ms),
                               .waiter = waiter});
}

Sent Layout::repair_queue() {
  return sent(lua::repair_queue::Call{.lock = k_lock,
                                      .channel = k_channel,
                                      .info = k_info,
                                      .queue = k_queue,
                                      .scores = k_scores,
                                      .task = "repair",
                                      .from = 0});
}

// There are no latches without an expiry.
Sent Layout::repair(const Words& orphans) {
  return sent(lua::repair::Call{.lock = k_lock,
                                .channel = k_channel,
                                .info = k_info,
                                .queue = k_queue,
                                .scores = k_scores,
                                .latches = {},
                                .task = "repair",
                                .token = k_token,
                                .permits = k_permits,
                                .semaphore_channel = k_semaphore_channel,
                                .orphans = orphans});
}

bool Layout::finds_nothing(const Reply& reply) {
  const bool is_of_queue = reply.items.size() == 3 && reply.items[2] == Reply::array();
  return is_of_queue || reply == Reply::array();
}

Reply Layout::as_ours(const Sent& sent, const Reply& reply) {
  const bool is_nil = reply.type == Reply::Type::nil;
  if (sent.script.starts_with("redisson/release"))
    return Reply::array({is_nil ? Reply::number(2) : reply});
  if (!sent.script.starts_with("redisson/acquire")) return reply;
  if (!is_nil) return Reply::array({Reply::number(0), reply});
  return Reply::array({Reply::number(1), Reply::number(0), Reply::number(0), Reply::bulk("")});
}

Sent Layout::give_up(const std::string& waiter) {
  return {"redisson/give_up_fair", {k_queue, k_scores}, {waiter, k_redissons_wait}};
}

std::string Layout::channel(const std::string& waiter) const {
  if (is_fair(kind)) return k_channel + ":" + waiter;
  if (kind == Kind::read_write) return k_rw_channel;
  return is_semaphore(kind) ? k_semaphore_channel : k_channel;
}

}  // namespace rlock::explore
