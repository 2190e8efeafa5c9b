#include "cli/watching/notifications.hpp"

#include <algorithm>
#include <string_view>

namespace rlock::cli {

using redis::Reply;

bool notifies_of_locks(redis::Client& client) {
  const Reply reply = client.command({"CONFIG", "GET", "notify-keyspace-events"});
  if (reply.type != Reply::Type::array || reply.items.size() < 2) return false;
  const std::string& flags = reply.items[1].text;
  const auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
  constexpr std::string_view k_needed = "ghxlz";
  return has('K') && (has('A') || std::all_of(k_needed.begin(), k_needed.end(), has));
}

std::string key_channel(int database, const std::string& key) {
  return "__keyspace@" + std::to_string(database) + "__:" + key;
}

}  // namespace rlock::cli
