#include "lock/inspection/repair.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "lock/inspection/leftovers.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

constexpr std::string_view k_codes[] = {
    "dead_waiter",         MembersWithoutScore::k_code, ScoresWithoutMember::k_code,
    LeakedLatches::k_code, LastingInfo::k_code,         EndedPermits::k_code};

}  // namespace

std::vector<Fix> repair(redis::Client& client, const std::string& name,
                        const std::vector<std::string>& leftovers, Repair mode) {
  const KeyNames keys(name);
  using Task = decltype(lua::repair::Call::task);
  const redis::Reply reply =
      client.run(lua::repair::Call{.lock = keys.lock,
                                   .channel = keys.channel,
                                   .info = keys.info,
                                   .queue = keys.queue,
                                   .scores = keys.timeout,
                                   .latches = latches_of(leftovers),
                                   .task = mode == Repair::repair ? Task("repair") : "look",
                                   .permits = keys.permits,
                                   .semaphore_channel = keys.semaphore_channel});
  std::vector<Fix> fixes;
  for (const redis::Reply& sort : reply.as_array()) {
    const auto& items = sort.as_array(3);
    const std::string& code = items[0].as_text();
    if (std::ranges::find(k_codes, code) == std::end(k_codes)) {
      throw redis::ProtocolError("repair: " + code);
    }
    fixes.push_back({code, {items[2].as_text(), static_cast<std::size_t>(items[1].as_integer())}});
  }
  return fixes;
}

}  // namespace rlock::lock
