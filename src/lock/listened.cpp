#include "lock/listened.hpp"

#include <string_view>
#include <vector>

#include "lock/key_names.hpp"

namespace rlock::lock {
namespace {

// Adds the names whose channels have listeners, as PUBSUB tells by this command.
void add_one(std::set<std::string>& names, redis::Client& client, const std::string& name,
             const char* command) {
  const KeyNames keys(name);
  for (const std::string& channel : {keys.channel, keys.read_write_channel}) {
    const redis::Reply reply = client.command({"PUBSUB", command, channel});
    if (reply.type == redis::Reply::Type::error) return;
    if (reply.as_array(2)[1].as_integer() > 0) names.insert(name);
  }
}

void add_all(std::set<std::string>& names, redis::Client& client, const char* command) {
  for (const std::string_view start : {"redisson_lock__channel:{", "redisson_rwlock:{"}) {
    const std::string pattern = std::string(start) + "*";
    const redis::Reply reply = client.command({"PUBSUB", command, pattern});
    if (reply.type == redis::Reply::Type::error) return;
    for (const redis::Reply& channel : reply.as_array()) {
      std::string found = channel.as_text().substr(start.size());
      // Behind the brace comes the owner, where it is the channel of a waiter of a fair lock.
      if (!found.ends_with('}') || found.find_first_of("{}") != found.size() - 1) continue;
      found.pop_back();
      if (!found.empty() && found.size() <= k_longest_name) names.insert(std::move(found));
    }
  }
}

}  // namespace

std::set<std::string> listened_locks(redis::Client& client, const std::optional<std::string>& name,
                                     Reach reach) {
  std::set<std::string> names;
  if (name) {
    add_one(names, client, *name, "NUMSUB");
    if (reach == Reach::shards) add_one(names, client, *name, "SHARDNUMSUB");
  } else {
    add_all(names, client, "CHANNELS");
    if (reach == Reach::shards) add_all(names, client, "SHARDCHANNELS");
  }
  return names;
}

}  // namespace rlock::lock
