#include "cli/notifications.hpp"

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

std::string find_run_id(redis::Client& client) {
  const Reply reply = client.command({"INFO", "server"});
  constexpr std::string_view k_key = "run_id:";
  const std::size_t start = reply.text.find(k_key);
  if (reply.type != Reply::Type::string || start == std::string::npos) return "";
  const std::size_t end = reply.text.find_first_of("\r\n", start);
  return reply.text.substr(start + k_key.size(), end - start - k_key.size());
}

}  // namespace rlock::cli
