#include "explore/world.hpp"

#include <algorithm>
#include <utility>

#include "explore/keeping.hpp"
#include "explore/moments.hpp"
#include "explore/promises.hpp"

namespace rlock::explore {
namespace {

using What = Action::What;
using Phase = Client::Phase;
using Pending = Client::Pending;
using Progress = Client::Progress;

const char* name_of(What what) {
  static const char* const names[] = {"takes",
                                      "asks again",
                                      "joins",
                                      "gives up",
                                      "renews",
                                      "re-enters",
                                      "releases",
                                      "has its hold given back by another process",
                                      "sends again",
                                      "crashes",
                                      "unlock --force",
                                      "evict",
                                      "doctor --repair",
                                      "PERSIST",
                                      "the clock is set back",
                                      "late request arrives",
                                      "time passes"};
  return names[static_cast<int>(what)];
}

}  // namespace

Hold& hold_of(Client& client, int hold) { return client.holds[static_cast<std::size_t>(hold)]; }

void end(Client& client, bool is_loss) {
  const Progress progress =
      client.progress == Progress::taken && is_loss ? Progress::lost : client.progress;
  const bool is_redisson = client.is_redisson, is_acquire = client.is_acquire,
             is_poor = client.is_poor;
  const std::string owner = client.owner;
  client = Client{};
  client.progress = progress;
  client.is_redisson = is_redisson;
  client.is_acquire = is_acquire;
  client.is_poor = is_poor;
  if (is_redisson) client.owner = owner;  // a thread stays who it is
}

void await(Client& client, Pending what, int hold) {
  client.pending = what;
  client.pending_hold = hold;
  // A renewal counts nothing: late, it does no harm.
  if (what != Pending::renew) hold_of(client, hold).is_unanswered = true;
  if (what != Pending::release || client.holds.size() > 1) return;
  client.is_late = true;  // it has no claim to its place any more
  client.left_ms = std::min<std::int64_t>(client.left_ms, 0);  // its command has ended
}

bool Client::writes() const {
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (holds[i].writes && counts_on(static_cast<int>(i))) return true;
  }
  return false;
}

World first_world(const Layout& layout, int clients, int faults) {
  World world;
  world.clients.resize(static_cast<std::size_t>(clients));
  world.flights.resize(static_cast<std::size_t>(clients) + 1);
  world.faults = faults;
  // Among three, one is rlock's.
  for (std::size_t i = 1; is_mixed(layout.kind) && i < world.clients.size();
       i += clients == 3 ? 1 : 2)
    world.clients[i].is_redisson = true;
  for (std::size_t i = 1; !layout.lacks.empty() && i < world.clients.size(); i += 2)
    world.clients[i].is_poor = true;
  for (std::size_t i = 0; layout.is_family && i < world.clients.size(); i += 2)
    world.clients[i].is_acquire = true;
  if (layout.kind == Kind::service)
    world.store.run({"set", k_lock, std::to_string(layout.permits)});
  normalise(world);
  return world;
}

void Rules::check_slow_path(const World& world, const Sent& sent, const Reply& reply,
                            Store before) {
  // Where a request is refused, the paths may be so at different steps.
  if (!layout_.lacks.empty() || layout_.lacks_memory) return;
  const std::string path = "the slow path of " + sent.script;
  if (host_.run("slow/" + sent.script, before, sent.keys, sent.args) != reply)
    throw Violation{path + " answers something else"};
  if (before.published != world.store.published || before.messages != world.store.messages)
    throw Violation{path + " notifies others"};
  World fast = world, slow = world;
  slow.store = std::move(before);
  Value& fast_info = fast.store.keys[k_info];
  Value& slow_info = slow.store.keys[k_info];
  // A fast path may leave the side key for longer, because it does not let it go and makes it anew.
  if (fast_info.end_ms > slow_info.end_ms) fast_info.end_ms = slow_info.end_ms;
  for (Value* info : {&fast_info, &slow_info}) {
    // A fast path marks an entry that has no notes (lua/include/telling.lua).
    for (auto& [field, text] : info->hash) {
      if (text.starts_with("{ ")) text.erase(1, 1);
    }
  }
  const std::string left = normalise(slow);
  if (normalise(fast) != left) throw Violation{path + " leaves something else:\n" + left};
}

Reply Rules::send(World& world, const Sent& sent, bool is_lost) {
  world.store.channels.clear();
  world.store.published.clear();
  world.store.messages.clear();
  for (const Client& client : world.clients) {
    if (client.listens()) world.store.channels.push_back(layout_.channel(client.owner));
  }
  sent_.push_back(sent);
  const bool has_slow_path = host_.knows("slow/" + sent.script);
  Store before = has_slow_path ? world.store : Store{};
  Reply reply = host_.run(sent.script, world.store, sent.keys, sent.args);
  if (has_slow_path) check_slow_path(world, sent, reply, std::move(before));
  if (reply.type == Reply::Type::error) {
    const bool is_refusal = reply.text.starts_with("OOM") || reply.text.starts_with("NOPERM");
    if (is_refusal) return reply;
    throw Violation{"a script failed: " + reply.text};
  }
  check_taken(layout_, world);
  if (sent.script.starts_with("redisson/")) return Layout::as_ours(sent, reply);
  // A request that is sent again at once, as after a lost reply, changes nothing but what it
  // prolongs. A waiter that asks again may have its turn.
  const bool is_waiting = sent.script.starts_with("acquire") && reply.items.at(0).integer == 0;
  // A script that lacks a right may come to where it fails only the second time.
  if (is_lost && !is_waiting && layout_.lacks.empty()) {
    Store again = world.store;
    const Reply second = host_.run(sent.script, again, sent.keys, sent.args);
    World one = world, other = world;
    other.store = again;
    for (World* copy : {&one, &other}) {
      for (auto& [name, value] : copy->store.keys) value.end_ms = value.end_ms == 0 ? 0 : 1;
    }
    if (normalise(one) != normalise(other))
      throw Violation{"sent again, " + sent.script + " changed something"};
    const bool is_other =
        sent.script.starts_with("repair") ? !Layout::finds_nothing(second) : second != reply;
    if (is_other) throw Violation{"sent again, " + sent.script + " answered something else"};
  }
  return reply;
}

std::string Rules::apply(World& world, const Action& action) {
  sent_.clear();
  passed_ms_ = 0;
  world.faults -= faults_of(action);
  world.looked_foreign =
      (world.looked_foreign && is_endless(world.store)) || looks_foreign(world.store);
  std::string text = name_of(action.what);
  const char* const fate = action.fate == Fate::lost      ? ", and the reply is lost"
                           : action.fate == Fate::late    ? ", but that request is late"
                           : action.fate == Fate::starved ? ", and the server is out of memory"
                                                          : "";
  if (action.what == What::arrive) {
    arrive(world, action.client);
    forget_families(world);
    check(layout_, world);
    return "a " + text + ": " + sent_.at(0).script;
  }
  if (action.client < 0) {
    if (action.what == What::force) force(world, action.fate);
    if (action.what == What::evict) evict(world, action.target, action.fate);
    if (action.what == What::repair) repair(world);
    if (action.what == What::persist) persist(world, action.target);
    if (action.what == What::set_back) set_back(world);
    if (action.what == What::pass) {
      passed_ms_ = pass(world);
      drop_kept(layout_, world);
      text += ": " + std::to_string(passed_ms_) + " ms";
    }
    forget_families(world);
    check(layout_, world);
    return text + " " + action.target + fate;
  }
  act(world, world.clients[static_cast<std::size_t>(action.client)], action);
  forget_families(world);
  check(layout_, world);
  return "client " + std::to_string(action.client + 1) + " " + text +
         (action.writes ? " to write" : "") + (action.keep_ms > 0 ? ", and keeps the lock" : "") +
         fate;
}

void Rules::act(World& world, Client& client, const Action& action) {
  switch (action.what) {
    case What::take:
      take(world, client, action.writes);
      [[fallthrough]];
    case What::ask:
      acquire(world, client, action.fate);
      break;
    case What::renew:
      renew(world, client, action.hold, action.fate);
      break;
    case What::reenter:
      client.holds.push_back({.id = fresh(world, 'h', "."),
                              .is_redissons = client.is_redisson,
                              .writes = action.writes,
                              .is_reentered = true,
                              .is_unproven = true});
      reenter(world, client, static_cast<int>(client.holds.size()) - 1, action.fate);
      break;
    case What::join:
      join(world, client, action.target, action.writes, action.fate);
      break;
    case What::unlock:
      unlock(world, client);
      break;
    case What::give_up:
      give_up(world, client, action.fate);
      break;
    case What::release:
      release(world, client, action.hold, action.fate, action.keep_ms);
      break;
    case What::crash:
      if (layout_.is_family) lose_count(world, client);
      end(client, true);
      client.owner.clear();
      break;
    case What::resend:
      resend(world, client);
      break;
    default:
      break;
  }
}

void Rules::take(World& world, Client& client, bool writes) {
  if (!client.is_redisson || client.owner.empty())
    client.owner = fresh(world, client.is_redisson ? 'j' : 'o', ":1");
  client.holds = {{.id = fresh(world, 'h', "."),
                   .is_redissons = client.is_redisson,
                   .writes = writes,
                   .is_known = client.is_acquire}};
  client.phase = Phase::waiting;
  client.is_late = false;
}

void Rules::resend(World& world, Client& client) {
  const int hold = client.pending_hold;
  switch (std::exchange(client.pending, Pending::nothing)) {
    case Pending::acquire:
      return acquire(world, client, Fate::answered);
    case Pending::reenter:
      return reenter(world, client, hold, Fate::answered);
    case Pending::renew:
      return renew(world, client, hold, Fate::answered);
    case Pending::release:
      return release(world, client, hold, Fate::answered, client.pending_keep_ms);
    case Pending::nothing:
      break;
  }
}

void Rules::forget(World& world, const Hold& hold) {
  if (!hold.is_unanswered) world.store.run({"del", k_latch + hold.id});
}

}  // namespace rlock::explore
