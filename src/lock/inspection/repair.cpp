#include "lock/inspection/repair.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "lock/inspection/leftovers.hpp"
#include "lock/inspection/snapshot_problems.hpp"
#include "lock/words/key_names.hpp"
#include "lua_limits.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

// A script must not block the server for long.
constexpr std::size_t k_checked_at_once = 100;

// The codes of the scripts.
constexpr const char* k_codes[] = {
    Fix::k_dead_waiter,    MembersWithoutScore::k_code, ScoresWithoutMember::k_code,
    LeakedLatches::k_code, LastingInfo::k_code,         EndedPermits::k_code,
    BadToken::k_code,      TokenTooHigh::k_code,        TokenBehind::k_code};

void add(std::vector<Fix>& fixes, Fix more) {
  const auto same = std::ranges::find(fixes, more.code, &Fix::code);
  if (same == fixes.end()) {
    fixes.push_back(std::move(more));
  } else {
    same->found.count += more.found.count;
  }
}

// Reads what a script has found, see lua/include/fixes.lua.
std::vector<Fix> read_fixes(const std::vector<redis::Reply>& sorts) {
  std::vector<Fix> fixes;
  for (const redis::Reply& sort : sorts) {
    using enum lua::repair::Part;
    const auto& items = sort.as_array(k_parts);
    const std::string& code = items[k_code].as_text();
    if (std::ranges::find(k_codes, code) == std::end(k_codes)) {
      throw redis::ProtocolError("repair: " + code);
    }
    const auto count = static_cast<std::size_t>(items[k_count].as_integer());
    fixes.push_back({code, {items[k_first].as_text(), count}});
  }
  return fixes;
}

using RepairTask = decltype(lua::repair::Call::task);

RepairTask task_word(Repair mode) {
  return mode == Repair::repair ? RepairTask("repair") : RepairTask("look");
}

// Does the work of repair() for the queue.
std::vector<Fix> repair_queue(redis::Client& client, const KeyNames& keys, Repair mode) {
  std::vector<Fix> fixes;
  bool has_removed = false;
  do {
    has_removed = false;
    for (std::int64_t from = 0; from >= 0;) {
      const auto answer =
          lua::repair_queue::read(client.run(lua::repair_queue::Call{.lock = keys.lock,
                                                                     .channel = keys.channel,
                                                                     .info = keys.info,
                                                                     .queue = keys.queue,
                                                                     .scores = keys.scores,
                                                                     .task = task_word(mode),
                                                                     .from = from}));
      const auto& looked = std::get<lua::repair_queue::Looked>(answer);
      from = looked.next;
      for (Fix& fix : read_fixes(looked.fixes)) {
        add(fixes, std::move(fix));
        has_removed = mode == Repair::repair;
      }
    }
    // A waiter that left meanwhile moves those behind it into places that were looked at.
  } while (has_removed);
  return fixes;
}

// Removes up to `count` items from the front, and returns them.
std::vector<std::string> take(std::span<const std::string>& items, std::size_t count) {
  const auto some = items.first(std::min(count, items.size()));
  items = items.subspan(some.size());
  return {some.begin(), some.end()};
}

}  // namespace

std::vector<Fix> repair(redis::Client& client, const Snapshot& snapshot,
                        const std::vector<std::string>& leftovers, Repair mode) {
  const KeyNames keys(snapshot.name);
  const std::vector<std::string> all_latches = latches_of(leftovers);
  const std::vector<std::string> all_orphans = find_orphans(snapshot);
  std::span<const std::string> latches = all_latches;
  std::span<const std::string> orphans = all_orphans;
  // To look for an orphan in the queue takes the longer, the longer the queue is.
  const std::size_t orphans_at_once =
      std::min(k_checked_at_once, 1 + std::size_t{lua::k_reach} / (1 + snapshot.queue.size()));

  std::vector<Fix> fixes = repair_queue(client, keys, mode);
  bool is_first = true;
  do {
    const redis::Reply reply =
        client.run(lua::repair::Call{.lock = keys.lock,
                                     .channel = keys.channel,
                                     .info = keys.info,
                                     .queue = keys.queue,
                                     .scores = keys.scores,
                                     .latches = take(latches, k_checked_at_once),
                                     .task = task_word(mode),
                                     .token = keys.token,
                                     .permits = keys.permits,
                                     .semaphore_channel = keys.semaphore_channel,
                                     .orphans = take(orphans, orphans_at_once)});
    for (Fix& fix : read_fixes(reply.as_array())) {
      // If it only looks, each request finds everything else again.
      const bool is_new = is_first || mode == Repair::repair || fix.code == LeakedLatches::k_code ||
                          fix.code == ScoresWithoutMember::k_code;
      if (is_new) add(fixes, std::move(fix));
    }
    is_first = false;
  } while (!latches.empty() || !orphans.empty());
  return fixes;
}

}  // namespace rlock::lock
