#include "lock/inspection/listened.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "lock/words/key_names.hpp"

namespace rlock::lock {
namespace {

// Adds `name` if one of its channels has listeners. `command`: the subcommand of PUBSUB that counts
// them.
void add_one(Listened& listened, redis::Client& client, const std::string& name,
             const char* command) {
  const KeyNames keys(name);
  for (const std::string& channel :
       {keys.channel, keys.read_write_channel, keys.semaphore_channel}) {
    const redis::Reply reply = client.command({"PUBSUB", command, channel});
    if (reply.is_error()) return;
    if (reply.as_array(2)[1].as_integer() == 0) continue;
    (channel == keys.semaphore_channel ? listened.semaphores : listened.locks).insert(name);
  }
}

void add_all(Listened& listened, redis::Client& client, const char* command) {
  constexpr std::string_view k_semaphore = "redisson_sc:{";
  for (const std::string_view start : {std::string_view("redisson_lock__channel:{"),
                                       std::string_view("redisson_rwlock:{"), k_semaphore}) {
    std::set<std::string>& names = start == k_semaphore ? listened.semaphores : listened.locks;
    const std::string pattern = std::string(start) + "*";
    const redis::Reply reply = client.command({"PUBSUB", command, pattern});
    if (reply.is_error()) return;
    for (const redis::Reply& channel : reply.as_array()) {
      std::string found = channel.as_text().substr(start.size());
      // On the channel of a single waiter, the owner follows the brace.
      if (!found.ends_with('}') || found.find_first_of("{}") != found.size() - 1) continue;
      found.pop_back();
      if (!found.empty() && found.size() <= k_longest_name) names.insert(std::move(found));
    }
  }
}

// rlock waiters ask again by themselves. Redisson waiters do not.
bool has_sleepers(const Snapshot& snapshot, const Listened& listened) {
  if (snapshot.held || snapshot.is_stale()) return false;
  if (snapshot.waiters.empty()) return listened.locks.contains(snapshot.name);
  const Waiter& head = snapshot.waiters.front();
  return head.alive == true && !head.is_told;
}

// Redisson waiters wait for a message even if a permit is available, or if there is no semaphore.
bool has_semaphore_sleepers(const Snapshot& snapshot, const Listened& listened) {
  const bool is_full = snapshot.permits ? snapshot.permits->available <= 0 : snapshot.held;
  return !is_full && !snapshot.is_stale() && listened.semaphores.contains(snapshot.name);
}

}  // namespace

Listened listened_locks(redis::Client& client, const std::optional<std::string>& name,
                        bool is_sharded) {
  Listened listened;
  if (name) {
    add_one(listened, client, *name, "NUMSUB");
    if (is_sharded) add_one(listened, client, *name, "SHARDNUMSUB");
  } else {
    add_all(listened, client, "CHANNELS");
    if (is_sharded) add_all(listened, client, "SHARDCHANNELS");
  }
  return listened;
}

std::optional<SleepingWaiter> find_sleepers(const Snapshot& snapshot, const Listened& listened) {
  using Beside = SleepingWaiter::Beside;
  if (has_sleepers(snapshot, listened)) return SleepingWaiter{Beside::free_lock};
  if (!has_semaphore_sleepers(snapshot, listened)) return std::nullopt;
  if (!snapshot.permits) return SleepingWaiter{Beside::nothing};
  return SleepingWaiter{Beside::free_permit, std::max<std::int64_t>(snapshot.permits->total, 0)};
}

}  // namespace rlock::lock
