#include "lock/listened.hpp"

#include <string_view>
#include <vector>

#include "lock/key_names.hpp"

namespace rlock::lock {
namespace {

bool is_listened(redis::Client& client, const std::string& name) {
  const KeyNames keys(name);
  const redis::Reply reply =
      client.command({"PUBSUB", "NUMSUB", keys.channel, keys.read_write_channel});
  if (reply.type == redis::Reply::Type::error) return false;
  const auto& counts = reply.as_array(4);
  return counts[1].as_integer() + counts[3].as_integer() > 0;
}

}  // namespace

std::set<std::string> listened_locks(redis::Client& client,
                                     const std::optional<std::string>& name) {
  if (name) return is_listened(client, *name) ? std::set{*name} : std::set<std::string>{};
  std::set<std::string> names;
  for (const std::string_view start : {"redisson_lock__channel:{", "redisson_rwlock:{"}) {
    const std::string pattern = std::string(start) + "*";
    const redis::Reply reply = client.command({"PUBSUB", "CHANNELS", pattern});
    if (reply.type == redis::Reply::Type::error) return {};
    for (const redis::Reply& channel : reply.as_array()) {
      std::string found = channel.as_text().substr(start.size());
      // Behind the brace comes the owner, where it is the channel of a waiter of a fair lock.
      if (!found.ends_with('}') || found.find_first_of("{}") != found.size() - 1) continue;
      found.pop_back();
      if (!found.empty() && found.size() <= k_longest_name) names.insert(std::move(found));
    }
  }
  return names;
}

}  // namespace rlock::lock
