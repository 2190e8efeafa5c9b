#include "lock/inspection/listened.hpp"

#include <string_view>
#include <vector>

#include "base/shell_quote.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::lock {
namespace {

// Adds the names whose channels have listeners, as PUBSUB tells by this command.
void add_one(Listened& listened, redis::Client& client, const std::string& name,
             const char* command) {
  const KeyNames keys(name);
  for (const std::string& channel :
       {keys.channel, keys.read_write_channel, keys.semaphore_channel}) {
    const redis::Reply reply = client.command({"PUBSUB", command, channel});
    if (reply.type == redis::Reply::Type::error) return;
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

// Waiters of rlock ask again by themselves; those of Redisson do not.
bool has_sleepers(const Snapshot& snapshot, const Listened& listened) {
  if (snapshot.held) return false;
  if (snapshot.waiters.empty()) return listened.locks.contains(snapshot.name);
  const Waiter& head = snapshot.waiters.front();
  return head.alive != false && !head.about;
}

// Those of Redisson wait for a message also where a permit is available, or no semaphore is
// there.
bool has_semaphore_sleepers(const Snapshot& snapshot, const Listened& listened) {
  const bool is_full = snapshot.permits ? snapshot.permits->available <= 0 : snapshot.held;
  return !is_full && listened.semaphores.contains(snapshot.name);
}

}  // namespace

Listened listened_locks(redis::Client& client, const std::optional<std::string>& name,
                        Reach reach) {
  Listened listened;
  if (name) {
    add_one(listened, client, *name, "NUMSUB");
    if (reach == Reach::shards) add_one(listened, client, *name, "SHARDNUMSUB");
  } else {
    add_all(listened, client, "CHANNELS");
    if (reach == Reach::shards) add_all(listened, client, "SHARDCHANNELS");
  }
  return listened;
}

std::vector<Problem> find_sleepers(const Snapshot& snapshot, const Listened& listened) {
  const std::string others =
      ", and yet somebody waits for it, unless that is rlock watch: a waiter that nobody has "
      "called, as after DEL, sleeps on";
  if (has_sleepers(snapshot, listened)) {
    return {{"sleeping_waiter", "the lock is free" + others,
             "rlock unlock --force " + shell_operands({snapshot.name}) + "  # wakes it"}};
  }
  if (!has_semaphore_sleepers(snapshot, listened)) return {};
  const std::int64_t total = snapshot.permits ? snapshot.permits->total : 0;
  // The permit that comes back is what wakes.
  return {{"sleeping_waiter",
           (snapshot.permits ? "the semaphore has a permit available" : "there is no semaphore") +
               others,
           "rlock exec --permits " + (total > 0 ? std::to_string(total) : "N") + " " +
               shell_operands({snapshot.name}) + " -- true  # wakes it" +
               (total > 0 ? "" : "; N: how many permits there should be")}};
}

}  // namespace rlock::lock
