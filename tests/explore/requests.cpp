// What clients ask for, and what becomes of them by the answers.
#include <algorithm>
#include <utility>

#include "explore/keeping.hpp"
#include "explore/moments.hpp"
#include "explore/promises.hpp"
#include "explore/world.hpp"

namespace rlock::explore {
namespace {

using Phase = Client::Phase;
using Pending = Client::Pending;
using Progress = Client::Progress;

// A request of this client's has prolonged the lease.
void extend(Client& client) {
  if (client.left_ms > 0) client.left_ms = k_lease_ms;
}

// Of the reply busy, see lua/include/taking.lua.
constexpr std::size_t k_place = 7;
constexpr std::size_t k_ask_after = 8;

// Whether a client whose request for a fair lock was answered so asks again at once.
bool has_more_to_sweep(const Reply& reply) {
  return reply.items.size() > k_place && reply.items[0].integer == 0 &&
         reply.items[k_place].integer == -2;
}

// A Redisson client whose clock is ahead drops all deadlines that it has not made so late itself,
// as the first in the queue: then all that came after it add to its deadline.
bool may_be_dropped(const Store& store, const std::string& waiter, std::int64_t skew_ms) {
  const Value *queue = find(store, k_queue), *scores = find(store, k_scores),
              *info = find(store, k_info), *lock = find(store, k_lock);
  if (skew_ms <= 0 || queue == nullptr || scores == nullptr) return false;
  double latest = static_cast<double>(k_now_ms + k_lease_ms + skew_ms);
  if (lock != nullptr) latest = std::min(latest, static_cast<double>(lock->end_ms + skew_ms));
  for (const std::string& member : queue->list) {
    if (member == waiter) break;
    if (info == nullptr || info->hash.count(member) == 0) latest += 300'000;
  }
  return std::none_of(scores->zset.begin(), scores->zset.end(), [&](const auto& one) {
    return one.second == waiter && one.first + 1'000 >= latest;
  });
}

// A late waiter was dropped as dead: its claim is now that of its new place.
void note_passed(World& world, Client& client) {
  const Value* queue = find(world.store, k_queue);
  if (queue == nullptr) return;
  int last = client.arrival;
  for (const std::string& member : queue->list) {
    if (member == client.owner) break;
    for (const Client& other : world.clients) {
      if (other.owner == member) last = std::max(last, other.arrival);
    }
  }
  if (last == client.arrival) return;
  for (Client& other : world.clients) other.arrival += other.arrival > last ? 1 : 0;
  client.arrival = last + 1;
  ++world.arrivals;
}

// The first rlock waiter behind Redisson's counts their waits from the end of the lease, and theirs
// may count from an earlier one; and those behind it do as it does. So when one of them takes the
// lock, the deadline may have passed before the waiter asks again.
bool falls_short(const Store& store, const std::string& waiter, std::int64_t until_ms) {
  constexpr double k_most_short = 150'000;  // far less than one wait
  const Value *queue = find(store, k_queue), *scores = find(store, k_scores),
              *info = find(store, k_info);
  if (queue == nullptr || scores == nullptr) return false;
  double needed = static_cast<double>(k_now_ms + until_ms);
  for (const std::string& member : queue->list) {
    if (member == waiter) break;
    if (info == nullptr || info->hash.count(member) == 0) needed += 300'000;
  }
  return std::any_of(scores->zset.begin(), scores->zset.end(), [&](const auto& one) {
    return one.second == waiter && one.first < needed && one.first > needed - k_most_short;
  });
}

// The client has a place in the queue, as it is told by the reply busy.
void note_place(World& world, Client& client, const Reply& reply, std::int64_t skew_ms,
                bool was_queued) {
  const std::int64_t ask_after = reply.items.at(k_ask_after).integer;
  if (reply.items[k_place].integer < 0 || ask_after <= 0)
    throw Violation{"a waiter has no place, or is not told when to ask again"};
  if (client.arrival == 0) client.can_be_dropped = false;
  // Also after a Redisson client has dropped it.
  if (client.arrival == 0 || !was_queued)
    client.can_be_dropped =
        client.can_be_dropped || may_be_dropped(world.store, client.owner, skew_ms);
  if (client.arrival == 0) client.arrival = ++world.arrivals;
  client.ask_within_ms = ask_after * 6 / 5;
  if (falls_short(world.store, client.owner,
                  client.ask_within_ms + std::max<std::int64_t>(skew_ms, 0)))
    client.can_be_dropped = true;
}

}  // namespace

void Rules::acquire(World& world, Client& client, Fate fate) {
  const Sent request = layout_.take(client.owner, client.holds[0]);
  const bool was_queued = stands_in_queue(world.store, client.owner);
  if (fate == Fate::late) return depart(world, client, Pending::acquire, 0, request);
  Reply reply = this->request(world, client, request, fate);
  while (fate == Fate::answered && has_more_to_sweep(reply)) {
    reply = this->request(world, client, request, fate);
  }
  if (reply.type == Reply::Type::error) return refused(world, client, Pending::acquire, 0);
  const std::int64_t code = reply.items.at(0).integer;
  if (code == 1) {
    if (!client.is_poor && !layout_.has(world.store, client.owner, client.holds[0]))
      throw Violation{"granted, but the keys say nothing of it"};
    check_grant(layout_, world, client, reply);
  } else if (code == 0) {
    client.ask_within_ms = 6'000;
    if (client.is_redisson) {  // it sleeps until then, or until it is told
      client.ask_within_ms = std::max<std::int64_t>(reply.items.at(1).integer, 1);
      const bool is_known = std::any_of(
          world.clients.begin(), world.clients.end(),
          [&](const Client& other) { return other.can_be_dropped && other.arrival != 0; });
      if (reply.items.at(1).integer < 0 && layout_.skew_ms <= 0 && !is_known)
        throw Violation{"Redisson is told to wait forever"};
      if (!was_queued) client.arrival = ++world.arrivals;  // also if another has dropped it
    }
    if (is_fair(layout_.kind) && !client.is_redisson && !has_more_to_sweep(reply)) {
      if (client.is_late) note_passed(world, client);
      note_place(world, client, reply, layout_.skew_ms, was_queued);
      client.is_late = false;
    }
  } else if (code != 2) {
    throw Violation{"the lock is refused: " + reply.items.at(1).text};
  }
  if (fate == Fate::lost) {
    return await(client, Pending::acquire, 0);
  }
  if (code == 1) {
    client.phase = Phase::holding;
    client.left_ms = k_lease_ms;
    client.is_revoked = false;
    client.arrival = 0;
    client.progress = client.progress == Progress::none   ? Progress::taken
                      : client.progress == Progress::lost ? Progress::taken_again
                                                          : client.progress;
  } else if (code != 0) {
    throw Violation{"a client that waits is told that its hold has ended"};
  }
}

void Rules::reenter(World& world, Client& client, int hold, Fate fate) {
  const Hold shared{.is_outer = true};
  const bool was_held =
      layout_.has(world.store, client.owner, shared) ||
      (layout_.kind == Kind::read_write && layout_.count(world.store, client.owner, true) > 0);
  const Sent request = layout_.reenter(client.owner, hold_of(client, hold));
  if (fate == Fate::late) return depart(world, client, Pending::reenter, hold, request);
  const Reply reply = this->request(world, client, request, fate);
  if (reply.type == Reply::Type::error) return refused(world, client, Pending::reenter, hold);
  if (fate == Fate::lost) {
    return await(client, Pending::reenter, hold);
  }
  if (reply.items.at(0).integer != 1) {
    // An earlier sending of it may have counted.
    if (hold_of(client, hold).is_unanswered) lose_count(world, client);
    client.holds.pop_back();
    if (client.is_redisson && is_fair(layout_.kind))
      send(world, Layout::give_up(client.owner), false);  // it had been queued
    if (client.believes()) throw Violation{"a holder cannot re-enter"};
    if (client.holds.empty()) {
      for (const Client& other : world.clients) {
        if (other.owner == client.owner && other.believes() && other.counts_on(0))
          throw Violation{"a run that is nested in a holder's cannot re-enter"};
      }
      end(client, false);
    }
    return;
  }
  if (!was_held && client.is_redisson) return take_anew(world, client, reply);
  if (!was_held) throw Violation{"who does not hold the lock has re-entered it"};
  Hold& inner = hold_of(client, hold);
  inner.is_outer = reply.items.at(3).integer == 1;
  inner.is_unproven = false;
  forget(world, inner);
  if (client.holds.size() == 1 && !client.is_revoked) client.left_ms = k_lease_ms;  // it has joined
  extend(client);
}

// Redisson cannot tell a lock that it has lost from one that it re-enters: it has a new one now.
void Rules::take_anew(World& world, Client& client, const Reply& reply) {
  client.has_grant = false;
  check_grant(layout_, world, client, reply);
  client.holds.erase(client.holds.begin(), client.holds.end() - 1);
  client.is_revoked = false;
  client.left_ms = k_lease_ms;
}

// Also after the clock was set back. Who has no other holds knows what it has asked for.
void Rules::check_renewed(const World& world, const Client& client, const Hold& hold) const {
  if (!world.was_set_back || client.holds.size() > 1 || !is_alone(layout_, world, client)) return;
  std::int64_t most = k_lease_ms;
  for (const Kept& kept : world.kept) {
    if (kept.owner == client.owner) most = std::max(most, kept.left_ms);
  }
  if (layout_.left(world.store, client.owner, hold) > most)
    throw Violation{"a renewal leaves a lock for longer than was asked"};
}

void Rules::renew(World& world, Client& client, int hold, Fate fate) {
  const Sent request = layout_.renew(client.owner, hold_of(client, hold), k_lease_ms);
  if (fate == Fate::late) return depart(world, client, Pending::renew, hold, request);
  const Reply reply = this->request(world, client, request, fate);
  if (reply.type == Reply::Type::error) return refused(world, client, Pending::renew, hold);
  if (fate == Fate::lost) {
    await(client, Pending::renew, hold);
  } else if (reply.integer == 1) {
    if (!layout_.has(world.store, client.owner, hold_of(client, hold)))
      throw Violation{"who does not hold the lock has renewed it"};
    check_renewed(world, client, hold_of(client, hold));
    extend(client);
  } else {
    if (client.believes()) throw Violation{"a holder is told that it has lost the lock"};
    // A late request of it may take the lock again, and runs below it re-enter that.
    if (layout_.is_family && client.holds[0].is_unanswered) lose_count(world, client);
    end(client, true);
  }
}

void Rules::give_up(World& world, Client& client, Fate fate) {
  const bool is_inner = client.pending == Pending::reenter;
  const int hold = is_inner ? client.pending_hold : 0;
  client.pending = Pending::nothing;
  if (client.is_redisson && is_fair(layout_.kind)) {
    send(world, Layout::give_up(client.owner), false);
    check_gone(layout_, world, client, hold_of(client, hold), false);
    return end(client, false);
  }
  // There is nothing to take back where no request is without an answer, except a place in a queue.
  if (is_fair(layout_.kind) || hold_of(client, hold).is_unanswered)
    return release(world, client, hold, fate);
  end(client, false);
}

void Rules::release(World& world, Client& client, int index, Fate fate, std::int64_t keep_ms) {
  client.pending_keep_ms = keep_ms;
  const Hold hold = hold_of(client, index);
  const bool was_holding = client.phase == Phase::holding, believed = client.believes();
  // Nobody gives up what it has been granted but one hold that it had not heard of.
  const bool is_sure = was_holding && believed && !(hold.is_reentered && hold.is_unproven);
  const auto drop = [&] {
    client.holds.erase(client.holds.begin() + index);
    client.pending = Pending::nothing;
  };
  if (hold.is_outer && keep_ms == 0) {
    const Reply reply = send(world, layout_.renew(client.owner, hold, 0), false);
    if (believed && reply.integer != 1)
      throw Violation{"a holder is told that it has lost the lock"};
    drop();
    if (client.holds.empty()) end(client, !believed);
    return;
  }
  const Sent request = layout_.release(client.owner, hold, keep_ms);
  if (fate == Fate::late) return depart(world, client, Pending::release, index, request);
  const bool had_it = layout_.has(world.store, client.owner, hold);
  const bool lasted = layout_.left(world.store, client.owner, hold) > 0;
  const int before = counted(layout_, world, client.owner, hold);
  const Reply reply = this->request(world, client, request, fate);
  if (reply.type == Reply::Type::error) return refused(world, client, Pending::release, index);
  if (had_it && reply.items.at(0).integer != 2 && !hold.is_returned) {
    note_kept(layout_, world, client.owner, hold, keep_ms, before, lasted);
    hold_of(client, index).is_returned = true;
  }
  // Without memory, the latch may not bar what is still under way.
  if (fate != Fate::starved) give_back(world, client, hold);
  if (fate == Fate::starved) lose_count(world, client);
  revoke_nested(world, {.sent = {}, .owner = client.owner, .hold = hold});
  const std::int64_t code = reply.items.at(0).integer;
  if (had_it && code == 1) check_woken(layout_, world, client);
  if (fate == Fate::lost) return await(client, Pending::release, index);
  client.is_late = client.is_late || client.holds.size() == 1;  // it has no claim any more
  forget(world, hold);
  if (is_sure && code == 2) throw Violation{"a holder's release is told that it had no lock"};
  // The nested holds of a string end with the outer one.
  if (layout_.kind == Kind::simple && !hold.is_outer && had_it && code == 0 &&
      !may_be_kept(world, client.owner))
    throw Violation{"a lock stays that nobody keeps"};
  drop();
  if (!client.holds.empty()) return;
  // Where other processes go on, check() looks at them.
  const bool are_others = layout_.is_family && !is_alone(layout_, world, client);
  if (are_others || !is_sure_of(world, client.owner)) return end(client, was_holding && !believed);
  if (is_kept(world, client.owner)) {
    // A late renewal may have come between the two sendings.
    if (!hold.is_returned) check_kept_end(layout_, world, client.owner);
  } else {
    check_gone(layout_, world, client, hold, had_it && code == 1);
  }
  end(client, was_holding && !believed);
}

std::string Rules::run_of(const Client& client) const {
  if (client.holds.empty()) return "";
  return layout_.is_family ? client.holds[0].id : client.owner;
}

// The server has carried out a release of this hold.
void Rules::give_back(World& world, const Client& client, const Hold& hold) const {
  for (std::size_t i = 0; i < world.clients.size(); ++i) {
    Flight& flight = world.flights[i];
    if (&world.clients[i] != &client || !flight.is_there()) continue;
    flight.is_over = flight.is_over || flight.hold.id == hold.id;
    flight.is_ended =
        flight.is_ended || (client.holds.size() == 1 && flight.run == run_of(client) &&
                            (!layout_.is_family || is_alone(layout_, world, client)));
  }
}

void Rules::depart(World& world, Client& client, Pending what, int hold, const Sent& sent) {
  for (std::size_t i = 0; i < world.clients.size(); ++i) {
    if (&world.clients[i] != &client) continue;
    world.flights[i] = {.sent = sent,
                        .what = what,
                        .run = run_of(client),
                        .owner = client.owner,
                        .hold = hold_of(client, hold),
                        .left_ms = k_longest_way_ms,
                        .keep_ms = what == Pending::release ? client.pending_keep_ms : 0,
                        .was_queued = client.arrival != 0};
  }
  await(client, what, hold);
}

void Rules::arrive(World& world, int index) {
  const auto at = static_cast<std::size_t>(index);
  const Flight flight = std::exchange(world.flights[at], Flight{});
  if (flight.sent.script == "evict") return evicted(world, flight.sent);
  if (flight.what == Pending::nothing) return forced(world, flight.sent);
  Client& client = world.clients[at];
  const bool is_same = run_of(client) == flight.run;  // it did not crash, nor end, meanwhile
  const bool had_it = layout_.has(world.store, flight.owner, flight.hold);
  const bool lasted = layout_.left(world.store, flight.owner, flight.hold) > 0;
  const int before = counted(layout_, world, flight.owner, flight.hold);
  // It may have got its place by a request that it sent later.
  const bool was_queued = flight.was_queued || stands_in_queue(world.store, flight.owner);
  const Reply reply = send(world, flight.sent, false);
  const std::int64_t code =
      flight.what == Pending::renew ? reply.integer : reply.items.at(0).integer;
  if (flight.what == Pending::acquire && code == 1) {
    if (flight.is_over) throw Violation{"a hold that was given back is granted"};
    Client gone;
    gone.owner = flight.owner;
    gone.holds = {flight.hold};
    gone.has_grant = had_it;
    gone.arrival = was_queued ? -1 : 0;  // before all others, which is not judged
    check_grant(layout_, world, is_same ? client : gone, reply);
  }
  if (flight.what == Pending::acquire && code == 0 && is_same && is_fair(layout_.kind)) {
    note_place(world, client, reply, layout_.skew_ms, was_queued);
    if (client.pending != Pending::release) client.is_late = false;
  }
  if (flight.what == Pending::release && had_it && code == 1) check_woken(layout_, world, client);
  if (flight.what == Pending::release && had_it && code != 2 && !flight.is_over &&
      !flight.hold.is_returned) {
    revoke_nested(world, flight);
    note_kept(layout_, world, flight.owner, flight.hold, flight.keep_ms, before, lasted);
    for (Hold& hold : client.holds)
      hold.is_returned = hold.is_returned || hold.id == flight.hold.id;
  }
  if (flight.is_ended && !is_kept(world, flight.owner) && is_sure_of(world, flight.owner))
    check_still_gone(layout_, world, flight);
}

}  // namespace rlock::explore
