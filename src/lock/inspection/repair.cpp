#include "lock/inspection/repair.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "lock/inspection/leftovers.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

constexpr std::size_t k_latches_at_once = 1000;  // a script must not block the server for long

// The codes of repair.lua.
constexpr const char* k_codes[] = {
    Fix::k_dead_waiter,    MembersWithoutScore::k_code, ScoresWithoutMember::k_code,
    LeakedLatches::k_code, LastingInfo::k_code,         EndedPermits::k_code,
    BadToken::k_code,      TokenTooHigh::k_code,        TokenBehind::k_code};

// Does the work of repair() for some of the latches.
std::vector<Fix> repair_some(redis::Client& client, const KeyNames& keys,
                             std::vector<std::string> latches, Repair mode) {
  using RepairTask = decltype(lua::repair::Call::task);
  const redis::Reply reply =
      client.run(lua::repair::Call{.lock = keys.lock,
                                   .channel = keys.channel,
                                   .info = keys.info,
                                   .queue = keys.queue,
                                   .scores = keys.scores,
                                   .latches = std::move(latches),
                                   .task = mode == Repair::repair ? RepairTask("repair") : "look",
                                   .token = keys.token,
                                   .permits = keys.permits,
                                   .semaphore_channel = keys.semaphore_channel});
  std::vector<Fix> fixes;
  for (const redis::Reply& sort : reply.as_array()) {
    using enum lua::repair::Part;
    const auto& items = sort.as_array(k_parts);
    const std::string& code = items[k_code].as_text();
    if (std::ranges::find(k_codes, code) == std::end(k_codes)) {
      throw redis::ProtocolError("repair: " + code);
    }
    const auto count = static_cast<std::size_t>(items[k_count].as_integer());
    fixes.push_back({code, {items[k_first].as_text(), count}});
  }
  return fixes;
}

void add(std::vector<Fix>& fixes, Fix more) {
  const auto same = std::ranges::find(fixes, more.code, &Fix::code);
  if (same == fixes.end()) {
    fixes.push_back(std::move(more));
  } else {
    same->found.count += more.found.count;
  }
}

}  // namespace

std::vector<Fix> repair(redis::Client& client, const std::string& name,
                        const std::vector<std::string>& leftovers, Repair mode) {
  const KeyNames keys(name);
  const std::vector<std::string> latches = latches_of(leftovers);
  std::vector<Fix> fixes;
  std::size_t at = 0;
  do {
    const auto some =
        std::span(latches).subspan(at).first(std::min(k_latches_at_once, latches.size() - at));
    for (Fix& fix : repair_some(client, keys, {some.begin(), some.end()}, mode)) {
      // If it only looks, each request finds everything else again.
      const bool is_new = at == 0 || mode == Repair::repair || fix.code == LeakedLatches::k_code;
      if (is_new) add(fixes, std::move(fix));
    }
    at += some.size();
  } while (at < latches.size());
  return fixes;
}

}  // namespace rlock::lock
