// Commands of the model: the server, keys and channels.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fnmatch.h>

#include "explore/store_commands.hpp"

namespace rlock::explore::commands {
namespace {

Reply time(Store& store, const Words& /*words*/) {
  return Reply::array({Reply::bulk(std::to_string(store.now_ms / 1000)),
                       Reply::bulk(std::to_string(store.now_ms % 1000 * 1000))});
}

// Only what the scripts look for.
Reply info(Store& store, const Words& words) {
  const std::string section = words.size() == 2 ? lower(words[1]) : "";
  if (section == "server") {
    return Reply::bulk("# Server\r\nrun_id:" + store.run_id + "\r\nuptime_in_seconds:" +
                       std::to_string(Store::k_up_s + (store.now_ms - k_now_ms) / 1000) + "\r\n");
  }
  if (section == "replication") return Reply::bulk("# Replication\r\nconnected_slaves:0\r\n");
  if (section == "keyspace") return Reply::bulk("# Keyspace\r\n");
  if (section == "cluster") return Reply::bulk("# Cluster\r\ncluster_enabled:0\r\n");
  refuse(words);
}

Reply dbsize(Store& store, const Words& /*words*/) {
  return Reply::number(static_cast<std::int64_t>(store.keys.size()));
}

// All keys come at once. Patterns are those of fnmatch: Redis' own differ only where they are
// broken.
Reply scan(Store& store, const Words& words) {
  char* end = nullptr;
  errno = 0;
  const bool is_first = std::strtoul(words[1].c_str(), &end, 10) == 0;
  if (std::isspace(static_cast<unsigned char>(words[1][0])) != 0 || *end != 0 || errno != 0)
    return Reply::error("ERR invalid cursor");
  std::optional<std::string> pattern, type;
  std::int64_t most = 0;
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const std::string option = lower(words[i]);
    if (i + 1 == words.size()) return k_syntax;
    const std::string& value = words[i + 1];
    if (option == "count") {
      const auto count = to_integer(value);
      if (!count) return k_no_integer;
      if (*count < 1) return k_syntax;
      most = *count;
    } else if (option == "match") {
      pattern = value;
    } else if (option == "type") {
      type = lower(value);
    } else {
      return k_syntax;
    }
  }
  if (!is_first || most < dbsize(store, {}).integer) refuse(words);
  Reply found = Reply::array();
  for (const auto& [key, value] : store.keys) {
    if (pattern && fnmatch(pattern->c_str(), key.c_str(), 0) != 0) continue;
    if (!type || *type == name_of(value.kind)) found.items.push_back(Reply::bulk(key));
  }
  return Reply::array({Reply::bulk("0"), std::move(found)});
}

// Keys.

Reply type(Store& store, const Words& words) {
  const Value* value = find(store, words[1]);
  return Reply::status(value == nullptr ? "none" : name_of(value->kind));
}

Reply exists(Store& store, const Words& words) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i) count += find(store, words[i]) != nullptr ? 1 : 0;
  return Reply::number(count);
}

Reply del(Store& store, const Words& words) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i)
    count += static_cast<std::int64_t>(store.keys.erase(words[i]));
  return Reply::number(count);
}

Reply pttl(Store& store, const Words& words) {
  const Value* value = find(store, words[1]);
  if (value == nullptr) return Reply::number(-2);
  return Reply::number(value->end_ms == 0 ? -1 : value->end_ms - store.now_ms);
}

Reply pexpire(Store& store, const Words& words) {
  static const Words options{"nx", "xx", "gt", "lt"};
  if (words.size() > 3) {
    if (std::count(options.begin(), options.end(), lower(words[3])) != 0) refuse(words);
    return Reply::error("ERR Unsupported option " + words[3]);
  }
  const auto span = to_integer(words[2]);
  if (!span) return k_no_integer;
  if (*span > INT64_MAX - store.now_ms)
    return Reply::error("ERR invalid expire time in 'pexpire' command");
  Value* value = find(store, words[1]);
  if (value == nullptr) return k_zero;
  if (*span <= 0) {
    store.keys.erase(words[1]);
  } else {
    value->end_ms = store.now_ms + *span;
  }
  return Reply::number(1);
}

Reply persist(Store& store, const Words& words) {
  Value* value = find(store, words[1]);
  if (value == nullptr || value->end_ms == 0) return k_zero;
  value->end_ms = 0;
  return Reply::number(1);
}

// Channels.

std::int64_t count_of(const Words& channels, const std::string& name) {
  return std::count(channels.begin(), channels.end(), name);
}

Reply publish(Store& store, const Words& words) {
  store.published.push_back(words[1]);
  store.messages.push_back(words[2]);
  return Reply::number(count_of(store.channels, words[1]));
}

Reply spublish(Store& store, const Words& words) {
  store.published_in_shard.push_back(words[1]);
  return Reply::number(count_of(store.shard_channels, words[1]));
}

Reply pubsub(Store& store, const Words& words) {
  const std::string what = lower(words[1]);
  if (what != "numsub" && what != "shardnumsub") refuse(words);
  Reply reply = Reply::array();
  for (std::size_t i = 2; i < words.size(); ++i) {
    reply.items.push_back(Reply::bulk(words[i]));
    reply.items.push_back(Reply::number(
        count_of(what == "numsub" ? store.channels : store.shard_channels, words[i])));
  }
  return reply;
}

}  // namespace

const Commands& key_commands() {
  static const Commands all{
      {"time", {1, time}},       {"info", {-1, info}},      {"dbsize", {1, dbsize}},
      {"scan", {-2, scan}},      {"type", {2, type}},       {"exists", {-2, exists}},
      {"del", {-2, del}},        {"pttl", {2, pttl}},       {"pexpire", {-3, pexpire}},
      {"persist", {2, persist}}, {"publish", {3, publish}}, {"spublish", {3, spublish}},
      {"pubsub", {-2, pubsub}},
  };
  return all;
}

}  // namespace rlock::explore::commands
