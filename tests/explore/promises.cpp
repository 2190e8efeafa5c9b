#include "explore/promises.hpp"

#include <algorithm>
#include <set>

#include "explore/keeping.hpp"

namespace rlock::explore {
namespace {

// A key that was made in the same script as the lock may end within the same millisecond.
bool is_over(const Value& value) { return value.end_ms != 0 && value.end_ms <= k_now_ms + 1; }

using Phase = Client::Phase;
using Pending = Client::Pending;

// Whether two clients may believe at once that they have the lock.
bool share(const Layout& layout, const Client& one, const Client& other) {
  if (are_kin(layout, one, other)) return true;
  if (is_semaphore(layout.kind)) return layout.permits > 1;
  return layout.kind == Kind::read_write && !one.writes() && !other.writes();
}

// Which keys may be there without an end.
bool may_stay(const Layout& layout, const World& world, const std::string& key) {
  // Tokens grow forever.
  if (key == k_token) return true;
  // Another client created the semaphore: it stays as it was.
  if (layout.kind == Kind::service && (key == k_lock || key == k_permits)) return true;
  // Redisson's queues have no end.
  const bool is_foreign =
      world.looked_foreign || (is_mixed(layout.kind) && looks_foreign(world.store));
  return is_foreign && (key == k_queue || key == k_scores);
}

// Processes of one owner share its permit.
bool is_first_of_owner(const Layout& layout, const World& world, const Client& client) {
  if (!layout.is_family) return true;
  for (const Client& other : world.clients) {
    if (&other == &client) return true;
    if (are_kin(layout, other, client) && other.believes()) return false;
  }
  return true;
}

void check_believers(const Layout& layout, const World& world) {
  int believers = 0;
  for (const Client& client : world.clients) {
    if (!client.believes()) continue;
    believers += is_first_of_owner(layout, world, client) ? 1 : 0;
    for (const Client& other : world.clients) {
      if (&other != &client && other.believes() && !share(layout, client, other))
        throw Violation{"two holders"};
    }
  }
  if (is_semaphore(layout.kind) && believers > layout.permits)
    throw Violation{"more holders than permits"};
}

void check_counts(const Layout& layout, const World& world, const Client& client) {
  std::vector<const Client*> processes;
  for (const Client& other : world.clients) {
    if (&other != &client && !are_kin(layout, other, client)) continue;
    if (other.pending != Pending::nothing) return;
    processes.push_back(&other);
  }
  for (const bool writes : {false, true}) {
    if (writes && layout.kind != Kind::read_write) continue;
    int expected = kept_count(world, client.owner, writes, true);
    int lost = kept_count(world, client.owner, writes, false);
    for (const Client* process : processes) {
      // Of a process whose lease is over, nothing needs to be there.
      (process->left_ms > 0 ? expected : lost) += static_cast<int>(
          std::count_if(process->holds.begin(), process->holds.end(), [&](const Hold& hold) {
            return hold.writes == writes && !hold.is_outer && !hold.is_returned;
          }));
    }
    const int count = layout.count(world.store, client.owner, writes);
    // A process that has crashed may have left its hold.
    if (count < expected || (count > expected + lost && is_sure_of(world, client.owner)))
      throw Violation{"the count is not that of the holds"};
  }
}

void check_holders(const Layout& layout, const World& world) {
  for (const Client& client : world.clients) {
    if (!client.believes() || client.is_poor) continue;
    for (std::size_t i = 0; i < client.holds.size(); ++i) {
      if (!client.counts_on(static_cast<int>(i))) continue;
      const Hold& hold = client.holds[i];
      if (client.pending == Pending::reenter && client.pending_hold == static_cast<int>(i))
        continue;  // perhaps it is there
      if (!layout.has(world.store, client.owner, hold)) throw Violation{"a holder has no lock"};
      if (layout.left(world.store, client.owner, hold) < client.left_ms)
        throw Violation{"the lock ends before its holder's lease"};
    }
    if (layout.lacks.empty()) check_counts(layout, world, client);
  }
}

// Of a read/write lock: what the keys say.
void check_readers(const World& world) {
  const Value* lock = find(world.store, k_lock);
  std::set<std::string> readers, writers;
  if (lock != nullptr) {
    const auto mode = lock->hash.find("mode");
    for (const auto& [field, count] : lock->hash) {
      if (field == "mode") continue;
      if (field.ends_with(":write")) {
        writers.insert(field.substr(0, field.size() - 6));
      } else {
        readers.insert(field);
      }
    }
    if (mode == lock->hash.end()) throw Violation{"the lock has no mode"};
    if ((mode->second == "write") != (writers.size() == 1) || writers.size() > 1)
      throw Violation{"the mode is not that of the holders"};
    for (const std::string& reader : readers) {
      if (!writers.empty() && writers.count(reader) == 0)
        throw Violation{"a reader beside a writer"};
    }
    if (readers.empty() && writers.empty()) throw Violation{"a lock of nobody"};
  }
  if (world.lost_end) return;
  for (const auto& [name, value] : world.store.keys) {
    const std::size_t part = name.find(":rwlock_timeout:");
    if (part == std::string::npos) continue;
    if (is_over(value)) continue;
    const std::string reader = name.substr(k_reader_prefix.size(), part - k_reader_prefix.size());
    const int hold = std::stoi(name.substr(part + 16));
    if (readers.count(reader) == 0 || std::stoi(lock->hash.at(reader)) < hold)
      throw Violation{"the key of a reader's hold that is not there: " + name};
  }
}

// Of a semaphore: no permit is lost, and none is made.
void check_permits(const Layout& layout, const World& world) {
  const Value *lock = find(world.store, k_lock), *out = find(world.store, k_permits);
  if (lock == nullptr) {
    if (layout.kind == Kind::service) throw Violation{"the semaphore of another client is gone"};
    if (out != nullptr) throw Violation{"permits are out of a semaphore that is not there"};
    return;
  }
  const int count = out == nullptr ? 0 : static_cast<int>(out->zset.size());
  const int total = std::stoi(lock->text) + count;
  if (total < layout.permits) throw Violation{"a permit is lost"};
  if (total > layout.permits) throw Violation{"a permit was given back twice"};
  if (count > layout.permits) throw Violation{"more permits are out than there are"};
}

void check_queue(const World& world) {
  const Value *queue = find(world.store, k_queue), *scores = find(world.store, k_scores);
  if ((queue == nullptr ? 0 : queue->list.size()) != (scores == nullptr ? 0 : scores->zset.size()))
    throw Violation{"queue and deadlines differ"};
}

}  // namespace

bool looks_foreign(const Store& store) {
  const Value *queue = find(store, k_queue), *info = find(store, k_info);
  if (queue == nullptr) return false;
  return std::any_of(queue->list.begin(), queue->list.end(), [&](const std::string& owner) {
    return info == nullptr || info->hash.count(owner) == 0;
  });
}

bool is_endless(const Store& store) {
  const Value* queue = find(store, k_queue);
  return queue != nullptr && queue->end_ms == 0;
}

void check(const Layout& layout, const World& world) {
  check_believers(layout, world);
  check_holders(layout, world);
  // A script that fails on its way may leave disorder, but nothing that has no end.
  const bool is_in_order = layout.lacks.empty();
  if (is_in_order) check_kept(layout, world);
  if (is_in_order && layout.kind == Kind::read_write) check_readers(world);
  if (is_in_order && !world.lost_end && is_semaphore(layout.kind)) check_permits(layout, world);
  for (const auto& [name, value] : world.store.keys) {
    if (!world.lost_end && value.end_ms == 0 && !may_stay(layout, world, name))
      throw Violation{name + " has no end"};
  }
  if (is_in_order && !world.lost_end) check_queue(world);
}

void check_grant(const Layout& layout, World& world, Client& client, const Reply& reply) {
  int others = 0;
  for (const Client& other : world.clients) {
    if (&other == &client || !other.believes()) continue;
    const bool is_same = are_kin(layout, other, client);
    others += is_first_of_owner(layout, world, other) && !is_same ? 1 : 0;
    if (!share(layout, client, other)) throw Violation{"granted while another holds it"};
  }
  if (is_semaphore(layout.kind) && others >= layout.permits)
    throw Violation{"granted while others have all permits"};
  check_grant_beside_kept(layout, world, client);
  const bool is_repeated = client.has_grant;  // whose reply was lost
  client.has_grant = true;
  if (const std::string& text = reply.items.at(3).text; !text.empty()) {
    const std::int64_t token = std::stoll(text);
    if (token < world.last_token || (token == world.last_token && !is_repeated))
      throw Violation{"a token did not grow"};
    if (is_repeated && token == world.last_token) return;
    world.last_token = token;
  } else if (is_repeated) {
    return;  // nothing tells whether it is a new grant
  }
  if (!is_fair(layout.kind) || !layout.lacks.empty()) return;
  for (const Client& other : world.clients) {
    // Redisson drops its own waiters when their deadlines have passed.
    if (other.is_redisson || other.can_be_dropped) continue;
    if (&other != &client && other.phase == Phase::waiting && other.arrival != 0 &&
        !other.is_late && !other.has_grant &&
        (client.arrival == 0 || client.arrival > other.arrival)) {
      throw Violation{"a waiter that lives was passed by one who came later"};
    }
  }
}

void check_still_gone(const Layout& layout, const World& world, const Flight& flight) {
  if (!layout.lacks.empty()) return;
  const Store& store = world.store;
  for (const bool writes : {false, true}) {
    Hold hold = flight.hold;
    hold.writes = writes;
    // What is left of a permit whose time is over keeps nobody out.
    if (layout.left(store, flight.owner, hold) > 0)
      throw Violation{"who has released or given up has the lock"};
  }
  if (stands_in_queue(store, flight.owner))
    throw Violation{"who has released or given up is in " + k_queue};
  if (const Value* scores = find(store, k_scores); scores != nullptr) {
    if (std::any_of(scores->zset.begin(), scores->zset.end(),
                    [&](const auto& one) { return one.second == flight.owner; }))
      throw Violation{"who has released or given up is in " + k_scores};
  }
}

void check_gone(const Layout& layout, const World& world, const Client& client, const Hold& last,
                bool is_freed) {
  if (!layout.lacks.empty()) return;
  const Store& store = world.store;
  Flight nothing;
  nothing.owner = client.owner;
  nothing.hold = last;
  check_still_gone(layout, world, nothing);
  // With the last holder, where nobody waits, what makes up the lock goes.
  const bool is_last = is_freed && layout.kind != Kind::service && layout.holders(store).empty() &&
                       find(store, k_queue) == nullptr &&
                       std::none_of(world.clients.begin(), world.clients.end(),
                                    [](const Client& other) { return other.listens(); });
  if (!is_last || world.lost_end) return;
  for (const auto& [name, value] : store.keys) {
    if (name != k_info && name != k_token && !name.starts_with(k_latch) && !is_over(value))
      throw Violation{"after the last release there is still " + name};
  }
}

void check_repaired(const Layout& layout, const World& before, const World& world) {
  if (layout.holders(before.store) != layout.holders(world.store))
    throw Violation{"doctor --repair changed who holds the lock"};
  const Value *had = find(before.store, k_queue), *queue = find(world.store, k_queue);
  if (had == nullptr) return;
  // Who waits, or has asked in time, keeps his place; nobody passes another, and nobody is new.
  Words expected;
  for (const std::string& owner : had->list) {
    const bool stays = stands_in_queue(world.store, owner);
    const bool lives =
        std::any_of(world.clients.begin(), world.clients.end(), [&](const Client& client) {
          return client.owner == owner && (client.listens() || !client.is_late);
        });
    if (lives && !stays) throw Violation{"doctor --repair dropped a waiter that lives"};
    if (stays) expected.push_back(owner);
  }
  if (queue == nullptr) return;
  if (queue->list != expected) throw Violation{"doctor --repair changed the order of the queue"};
  // Whoever is first now may have missed his call.
  const std::string& head = queue->list.front();
  const auto& told = world.store.published;
  if (layout.holders(world.store).empty() &&
      std::find(told.begin(), told.end(), layout.channel(head)) == told.end())
    throw Violation{"doctor --repair did not call who is first now"};
}

void check_taken(const Layout& layout, const World& world) {
  const Store& store = world.store;
  const std::string taken = is_semaphore(layout.kind) ? "0" : "2";
  if (std::find(store.messages.begin(), store.messages.end(), taken) == store.messages.end())
    return;
  const std::size_t most = is_semaphore(layout.kind) ? static_cast<std::size_t>(layout.permits) : 1;
  if (layout.holders(store).size() < most)
    throw Violation{"those who wait were told that the lock is taken, and it is free"};
}

// Messages are hints, but who waits asks only every few seconds.
void check_woken(const Layout& layout, const World& world, const Client& client) {
  if (!layout.lacks.empty()) return;
  if (layout.kind == Kind::fair) return;  // it calls the head, and only once
  if (!is_semaphore(layout.kind) && !layout.holders(world.store).empty()) return;
  const auto& told = world.store.published;
  const Value* queue = find(world.store, k_queue);
  for (const Client& other : world.clients) {
    if (&other == &client || !other.listens()) continue;
    const bool is_first = queue != nullptr && queue->list.front() == other.owner;
    if (layout.kind == Kind::mixed_fair && !(is_first && other.is_redisson)) continue;
    if (std::find(told.begin(), told.end(), layout.channel(other.owner)) == told.end())
      throw Violation{"a release that told nobody who waits"};
  }
}

}  // namespace rlock::explore
