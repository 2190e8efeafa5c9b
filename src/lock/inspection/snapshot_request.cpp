#include "lock/inspection/snapshot_request.hpp"

#include <optional>
#include <utility>

#include "lock/words/key_names.hpp"

namespace rlock::lock {
namespace {

// With more entries, the script's work on each costs more than a second request.
constexpr std::int64_t k_most_by_script = 2000;
constexpr std::int64_t k_any_number = -1;
constexpr std::int64_t k_none = 0;

redis::ScriptCall request_call(const redis::Client& client, const KeyNames& keys,
                               std::int64_t most) {
  return lua::snapshot::Call{.lock = keys.lock,
                             .info = keys.info,
                             .queue = keys.queue,
                             .scores = keys.scores,
                             .token = keys.token,
                             .channel = keys.channel,
                             .prefix = keys.reader_prefix,
                             .most = most,
                             .permits = keys.permits,
                             .rw_channel = keys.read_write_channel,
                             .semaphore_channel = keys.semaphore_channel,
                             .is_cluster = client.is_cluster()};
}

// Moves the reply of a command to its index in the reply of snapshot.lua. If the key has another
// type, the reply is an error, and the item stays empty.
void put(redis::Reply& snapshot, Place place, redis::Reply& reply) {
  if (reply.type == redis::Reply::Type::array) snapshot.items[place] = std::move(reply);
}

// Reads the lists by plain commands, in one transaction with the script that reads the rest. `run`:
// the command that runs scripts. Returns nothing if the server refuses the transaction.
std::optional<redis::Reply> request_long(redis::Client& client, const KeyNames& keys,
                                         const char* run) {
  const redis::ScriptCall call = request_call(client, keys, k_none);
  std::vector<redis::Reply> replies =
      client.commands({{"MULTI"},
                       redis::script_command(run, call),
                       {"HGETALL", keys.lock},
                       {"LRANGE", keys.queue, "0", "-1"},
                       {"ZRANGE", keys.scores, "0", "-1", "WITHSCORES"},
                       {"HGETALL", keys.info},
                       {"EXEC"}},
                      keys.lock);
  std::vector<redis::Reply>& parts = replies.back().items;
  if (parts.size() != 5 || parts[0].items.size() < k_parts) return std::nullopt;
  redis::Reply& snapshot = parts[0];
  put(snapshot, k_content, parts[1]);
  put(snapshot, k_queue, parts[2]);
  put(snapshot, k_scores, parts[3]);
  put(snapshot, k_info, parts[4]);
  return std::move(snapshot);
}

bool is_long(const redis::Reply& reply) { return reply.text == "LONG"; }

// Reads a lock with too many entries for the script.
redis::Reply request_whole(redis::Client& client, const KeyNames& keys) {
  for (const char* run : {"EVALSHA_RO", "EVALSHA"}) {
    if (auto whole = request_long(client, keys, run)) return std::move(*whole);
  }
  // Without a transaction: a server without free memory refuses transactions, and so can an ACL.
  return client.run(request_call(client, keys, k_any_number));
}

}  // namespace

redis::Reply request_snapshot(redis::Client& client, const std::string& name) {
  const KeyNames keys(name);
  redis::Reply reply = client.run(request_call(client, keys, k_most_by_script));
  return is_long(reply) ? request_whole(client, keys) : std::move(reply);
}

std::vector<redis::Reply> request_snapshots(redis::Client& client,
                                            std::span<const std::string> names) {
  std::vector<redis::ScriptCall> calls;
  calls.reserve(names.size());
  for (const std::string& name : names) {
    calls.push_back(request_call(client, KeyNames(name), k_most_by_script));
  }
  std::vector<redis::Reply> replies = client.run_all(calls);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_long(replies[i])) replies[i] = request_whole(client, KeyNames(names[i]));
  }
  return replies;
}

}  // namespace rlock::lock
