#include "lock/inspection/repair.hpp"

#include "lock/inspection/leftovers.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {

std::vector<Fix> repair(redis::Client& client, const std::string& name,
                        const std::vector<std::string>& leftovers, Repair mode) {
  const KeyNames keys(name);
  redis::ScriptArgs call{
      {keys.lock, keys.channel, keys.info, keys.queue, keys.timeout},
      {mode == Repair::repair ? "repair" : "look", keys.permits, keys.semaphore_channel}};
  const std::vector<std::string> latches = latches_of(leftovers);
  call.keys.insert(call.keys.end(), latches.begin(), latches.end());
  const redis::Reply reply = client.run(lua::repair::script, call);
  std::vector<Fix> fixes;
  for (const redis::Reply& sort : reply.as_array()) {
    const auto& items = sort.as_array(3);
    fixes.push_back({items[0].as_text(), items[1].as_integer(), items[2].as_text()});
  }
  return fixes;
}

}  // namespace rlock::lock
