#include "lock/inspection/repair.hpp"

#include "lock/inspection/leftovers.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {

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
    fixes.push_back({items[0].as_text(), items[1].as_integer(), items[2].as_text()});
  }
  return fixes;
}

}  // namespace rlock::lock
