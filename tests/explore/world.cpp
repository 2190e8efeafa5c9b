#include "explore/world.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

namespace rlock::explore {
namespace {

using nlohmann::json;
using What = Action::What;
using Phase = Client::Phase;
using Pending = Client::Pending;
using Progress = Client::Progress;

const std::string k_lock = "L";
const std::string k_info = "rlock_info:{L}";
const std::string k_channel = "redisson_lock__channel:{L}";
const std::string k_queue = "redisson_lock_queue:{L}";
const std::string k_scores = "redisson_lock_timeout:{L}";
const std::string k_token = "redisson_lock_token:{L}";
const std::string k_latch = "redisson_unlock_latch:{L}:";
const std::string k_rw_channel = "redisson_rwlock:{L}";

constexpr std::int64_t k_now_us = k_now_ms * 1000;
// Older moments make no difference to any script.
constexpr std::int64_t k_oldest_ms = 61'000;

bool is_known(const Store& store, const std::string& text) {
  for (const auto& [name, value] : store.keys) {
    if (name.find(text) != std::string::npos || value.text.find(text) != std::string::npos)
      return true;
    for (const auto& [field, content] : value.hash) {
      if (field.find(text) != std::string::npos || content.find(text) != std::string::npos)
        return true;
    }
    for (const auto& member : value.list) {
      if (member == text) return true;
    }
    for (const auto& [score, member] : value.zset) {
      if (member == text) return true;
    }
  }
  return false;
}

// Returns a name that nothing in the store tells of: a fresh UUID, with as few different ones as
// can be.
std::string fresh(const World& world, char letter, const std::string& suffix) {
  for (int i = 1;; ++i) {
    std::string name = std::string(1, letter) + std::to_string(i) + suffix;
    bool is_used = is_known(world.store, name);
    for (const Client& client : world.clients) {
      is_used = is_used || client.owner == name;
      for (const Hold& hold : client.holds) is_used = is_used || hold.id == name;
    }
    if (!is_used) return name;
  }
}

std::int64_t field_ms(const json& about, const char* name) {
  const auto found = about.find(name);
  return found != about.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

// Moves or forgets all moments that stand in the side key.
template <typename Change>
void change_info(Store& store, Change change) {
  const auto found = store.keys.find(k_info);
  if (found == store.keys.end()) return;
  for (auto& [field, text] : found->second.hash) {
    if (field == "holder") continue;
    json about = json::parse(text);
    change(about);
    text = about.dump();
  }
}

// Exception: a waiter that was silent for so long that nothing tells of it any more looks like one
// of another library, whose queues have no end. The next of its waiters that asks mends that.
bool looks_foreign(const Store& store) {
  const auto queue = store.keys.find(k_queue), info = store.keys.find(k_info);
  if (queue == store.keys.end()) return false;
  return std::any_of(queue->second.list.begin(), queue->second.list.end(),
                     [&](const std::string& owner) {
                       return info == store.keys.end() || info->second.hash.count(owner) == 0;
                     });
}

bool has_lock(const Store& store, const std::string& owner) {
  const auto lock = store.keys.find(k_lock);
  return lock != store.keys.end() && lock->second.hash.count(owner) != 0;
}

bool is_endless(const Store& store) {
  const auto queue = store.keys.find(k_queue);
  return queue != store.keys.end() && queue->second.end_ms == 0;
}

void shift(json& about, const char* name, std::int64_t by) {
  const auto found = about.find(name);
  if (found == about.end() || !found->is_number()) return;
  *found = std::max(found->get<std::int64_t>() - by, k_now_ms - k_oldest_ms);
}

}  // namespace

Reply Rules::send(World& world, const std::string& script, const Words& keys, const Words& args,
                  bool is_lost) {
  world.store.channels.clear();
  for (const Client& client : world.clients) {
    if (client.phase != Phase::waiting) continue;
    world.store.channels.push_back(kind_ == Kind::fair ? k_channel + ":" + client.owner
                                                       : k_channel);
  }
  sent_.push_back({script, keys, args});
  Reply reply = host_.run(script, world.store, keys, args);
  if (reply.type == Reply::Type::error) throw Violation{"a script failed: " + reply.text};
  // A request that is sent again at once, as after a lost reply, changes nothing but what it
  // prolongs. A waiter that asks again may have its turn.
  const bool is_waiting = script.starts_with("acquire") && reply.items.at(0).integer == 0;
  if (is_lost && !is_waiting) {
    Store again = world.store;
    const Reply second = host_.run(script, again, keys, args);
    World one = world, other = world;
    other.store = again;
    for (World* copy : {&one, &other}) {
      for (auto& [name, value] : copy->store.keys) value.end_ms = value.end_ms == 0 ? 0 : 1;
    }
    if (Rules::normalise(one) != Rules::normalise(other))
      throw Violation{"sent again, " + script + " changed something"};
    if (second != reply) {
      throw Violation{"sent again, " + script + " answered something else"};
    }
  }
  return reply;
}

std::vector<Action> Rules::actions(const World& world) const {
  std::vector<Action> all;
  for (int i = 0; i < static_cast<int>(world.clients.size()); ++i) {
    const Client& client = world.clients[static_cast<std::size_t>(i)];
    const auto both = [&](What what) {
      all.push_back({what, i, false});
      if (world.faults > 0) all.push_back({what, i, true});
    };
    if (client.phase == Phase::idle) {
      both(What::take);
      continue;
    }
    if (world.faults > 0) all.push_back({What::crash, i});
    if (client.pending != Pending::nothing) {
      all.push_back({What::resend, i});
      if (client.pending == Pending::acquire) both(What::give_up);
      continue;
    }
    if (client.phase == Phase::waiting) {
      both(What::ask);
      both(What::give_up);
    } else if (client.left_ms > 0) {
      both(What::renew);
      if (client.holds.size() < k_most_holds) both(What::reenter);
      both(What::release);
    } else {
      both(What::release);
    }
  }
  if (world.faults > 0 && world.store.keys.count(k_lock) != 0) all.push_back({What::force});
  if (const auto queue = world.store.keys.find(k_queue);
      world.faults > 0 && queue != world.store.keys.end()) {
    for (const std::string& owner : queue->second.list)
      all.push_back({What::evict, -1, false, owner});
  }
  all.push_back({What::pass});
  return all;
}

std::string Rules::apply(World& world, const Action& action) {
  static const char* const names[] = {"takes",          "asks again", "gives up",    "renews",
                                      "re-enters",      "releases",   "sends again", "crashes",
                                      "unlock --force", "evict",      "time passes"};
  sent_.clear();
  passed_ms_ = 0;
  const bool is_fault = action.is_lost || action.what == What::crash ||
                        action.what == What::force || action.what == What::evict;
  if (is_fault) --world.faults;
  world.looked_foreign =
      (world.looked_foreign && is_endless(world.store)) || looks_foreign(world.store);
  std::string text = names[static_cast<int>(action.what)];
  if (action.client < 0) {
    if (action.what == What::force) force(world);
    if (action.what == What::evict) evict(world, action.target);
    if (action.what == What::pass) pass(world);
    check(world);
    return text + (action.what == What::pass ? ": " + std::to_string(passed_ms_) + " ms"
                                             : " " + action.target);
  }
  Client& client = world.clients[static_cast<std::size_t>(action.client)];
  switch (action.what) {
    case What::take:
      client.owner = fresh(world, 'o', ":1");
      client.holds = {{fresh(world, 'h', "."), false}};
      client.phase = Phase::waiting;
      client.is_late = false;
      [[fallthrough]];
    case What::ask:
      acquire(world, client, action.is_lost);
      break;
    case What::renew:
      renew(world, client, action.is_lost);
      break;
    case What::reenter:
      reenter(world, client, action.is_lost);
      break;
    case What::give_up:
    case What::release:
      release(world, client, action.is_lost);
      break;
    case What::crash:
      end(client, true);
      break;
    case What::resend:
      switch (std::exchange(client.pending, Pending::nothing)) {
        case Pending::acquire:
          acquire(world, client, false);
          break;
        case Pending::reenter:
          reenter(world, client, false);
          break;
        case Pending::renew:
          renew(world, client, false);
          break;
        case Pending::release:
          release(world, client, false);
          break;
        case Pending::nothing:
          break;
      }
      break;
    default:
      break;
  }
  text = "client " + std::to_string(action.client + 1) + " " + text +
         (action.is_lost ? ", and the reply is lost" : "");
  check(world);
  return text;
}

void Rules::acquire(World& world, Client& client, bool is_lost) {
  const std::string latch = k_latch + client.holds[0].id;
  const Words common{std::to_string(k_lease_ms), client.owner, R"({"host":"h"})", "1", ""};
  Reply reply;
  if (kind_ == Kind::fair) {
    Words args = common;
    args.insert(args.end(), {k_channel, std::to_string(k_fair_wait_ms)});
    reply = send(world, "acquire_fair", {k_lock, k_info, latch, k_queue, k_scores, k_token}, args,
                 is_lost);
  } else {
    reply = send(world, "acquire", {k_lock, k_info, latch, k_queue, k_token}, common, is_lost);
  }
  const std::int64_t code = reply.items.at(0).integer;
  if (code == 1) granted(world, client, reply);
  if (code == 0 && kind_ == Kind::fair) {
    if (client.arrival == 0) client.arrival = ++world.arrivals;
    client.is_late = false;
    client.ask_within_ms = reply.items.at(7).integer * 6 / 5;
  } else if (code == 0) {
    client.ask_within_ms = 6'000;
  }
  if (is_lost) {
    client.pending = Pending::acquire;
    return;
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
    end(client, false);  // this hold has ended
  }
}

// What holds at each grant, whether its reply arrives or not.
void Rules::granted(World& world, Client& client, const Reply& reply) {
  const std::int64_t token = std::stoll(reply.items.at(3).text);
  const bool is_repeated = client.has_grant;  // whose reply was lost
  client.has_grant = true;
  if (token < world.last_token || (token == world.last_token && !is_repeated))
    throw Violation{"a token did not grow"};
  if (is_repeated && token == world.last_token) return;
  world.last_token = token;
  for (const Client& other : world.clients) {
    if (&other != &client && other.believes()) throw Violation{"granted while another holds it"};
    if (kind_ == Kind::fair && &other != &client && other.phase == Phase::waiting &&
        other.arrival != 0 && !other.is_late && !other.has_grant &&
        (client.arrival == 0 || client.arrival > other.arrival)) {
      throw Violation{"a waiter that lives was passed by one who came later"};
    }
  }
}

void Rules::reenter(World& world, Client& client, bool is_lost) {
  const bool is_again = client.holds.back().is_reentered;
  if (!is_again) client.holds.push_back({fresh(world, 'h', "."), true});
  const std::string latch = k_latch + client.holds.back().id;
  const bool was_held = has_lock(world.store, client.owner);
  const Reply reply =
      send(world, "reenter", {k_lock, latch, k_info, k_token},
           {std::to_string(k_lease_ms), client.owner, std::to_string(k_memory_ms), "1"}, is_lost);
  if (is_lost) {
    client.pending = Pending::reenter;
    return;
  }
  if (reply.items.at(0).integer != 1) {
    client.holds.pop_back();
    if (client.believes()) throw Violation{"a holder cannot re-enter"};
    return;
  }
  if (!was_held) throw Violation{"who does not hold the lock has re-entered it"};
  if (!is_again) world.store.run({"del", latch});  // every request was answered
  if (client.left_ms > 0) client.left_ms = k_lease_ms;
}

void Rules::renew(World& world, Client& client, bool is_lost) {
  const Reply reply = send(world, "renew", {k_lock},
                           {std::to_string(k_lease_ms), client.owner, k_info, ""}, is_lost);
  if (is_lost) {
    client.pending = Pending::renew;
  } else if (reply.integer == 1 && !has_lock(world.store, client.owner)) {
    throw Violation{"who does not hold the lock has renewed it"};
  } else if (reply.integer == 1) {
    if (client.left_ms > 0) client.left_ms = k_lease_ms;
  } else {
    if (client.believes()) throw Violation{"a holder is told that it has lost the lock"};
    end(client, true);
  }
}

void Rules::release(World& world, Client& client, bool is_lost) {
  const bool was_holding = client.phase == Phase::holding;
  const Hold hold = client.holds.back();
  const std::string latch = k_latch + hold.id;
  const bool believed = client.believes();
  const bool is_clean = client.pending == Pending::nothing;
  const Reply reply = send(world, "release", {k_lock, k_channel, k_info, latch, k_queue, k_scores},
                           {client.owner, std::to_string(k_memory_ms), "0",
                            kind_ == Kind::fair ? std::to_string(k_fair_wait_ms) : "0",
                            hold.is_reentered ? "reentered" : "", "1", "0"},
                           is_lost);
  client.is_late = true;  // who gives up has no claim any more
  if (is_lost) {
    client.pending = Pending::release;
    client.left_ms = std::min<std::int64_t>(client.left_ms, 0);  // the command has ended
    return;
  }
  if (is_clean) world.store.run({"del", latch});
  client.pending = Pending::nothing;
  if (was_holding && believed && reply.items.at(0).integer == 2)
    throw Violation{"a holder's release is told that it had no lock"};
  client.holds.pop_back();
  if (!client.holds.empty()) return;
  for (const auto& name : {k_lock, k_queue, k_scores}) {
    const auto found = world.store.keys.find(name);
    if (found == world.store.keys.end()) continue;
    const Value& value = found->second;
    const bool is_listed =
        std::find(value.list.begin(), value.list.end(), client.owner) != value.list.end();
    const bool is_scored =
        std::any_of(value.zset.begin(), value.zset.end(),
                    [&](const auto& entry) { return entry.second == client.owner; });
    if (value.hash.count(client.owner) != 0 || is_listed || is_scored) {
      throw Violation{"who has released or given up is still in " + name};
    }
  }
  end(client, was_holding && !believed);
}

void Rules::end(Client& client, bool is_loss) const {
  const Progress progress =
      client.progress == Progress::taken && is_loss ? Progress::lost : client.progress;
  client = Client{};
  client.progress = progress;
}

void Rules::force(World& world) {
  Words args{std::to_string(k_memory_ms), "{L}:", "lock", "only"};
  const Words owners = [&] {
    Words found;
    for (const auto& [owner, count] : world.store.keys.at(k_lock).hash) found.push_back(owner);
    return found;
  }();
  args.insert(args.end(), owners.begin(), owners.end());
  const std::string latch = k_latch + "force";
  send(world, "force_release", {k_lock, k_channel, k_info, latch, k_queue, k_scores, k_rw_channel},
       args, true);
  world.store.run({"del", latch});
  for (Client& client : world.clients) {
    if (std::find(owners.begin(), owners.end(), client.owner) != owners.end())
      client.is_revoked = true;
  }
}

void Rules::evict(World& world, const std::string& owner) {
  const std::string latch = k_latch + "evict";
  send(world, "evict", {k_lock, k_channel, k_info, latch, k_queue, k_scores},
       {std::to_string(k_memory_ms), owner}, true);
  world.store.run({"del", latch});
  for (Client& client : world.clients) {
    if (client.owner == owner) client.arrival = 0;  // it comes as if for the first time
  }
}

// Lets time pass until something may be different.
void Rules::pass(World& world) {
  std::int64_t next = 3'600'000;
  const auto consider = [&](std::int64_t in) {
    if (in > 0) next = std::min(next, in);
  };
  if (const auto expiry = world.store.next_expiry()) consider(*expiry);
  for (const Client& client : world.clients) {
    if (client.phase == Phase::holding) consider(client.left_ms);
    if (client.phase == Phase::waiting) consider(client.ask_within_ms + 1);
  }
  change_info(world.store, [&](json& about) {
    if (about.contains("due")) consider(field_ms(about, "due") + 1 - k_now_ms);
    if (about.contains("at")) {
      consider(field_ms(about, "at") + 8'001 - k_now_ms);
      consider(field_ms(about, "at") + 15'001 - k_now_ms);
    }
  });
  passed_ms_ = next;
  world.store.pass(next);
  if (const auto scores = world.store.keys.find(k_scores); scores != world.store.keys.end()) {
    for (auto& [score, member] : scores->second.zset) {
      score = std::max(score - static_cast<double>(next), static_cast<double>(k_now_ms - 1'000));
    }
    std::sort(scores->second.zset.begin(), scores->second.zset.end());
  }
  change_info(world.store, [&](json& about) {
    for (const char* name : {"due", "at", "kept", "outlived"}) shift(about, name, next);
  });
  for (Client& client : world.clients) {
    client.left_ms = std::max<std::int64_t>(client.left_ms - next, -1);
    if (client.phase != Phase::waiting) continue;
    client.ask_within_ms = std::max<std::int64_t>(client.ask_within_ms - next, -1);
    client.is_late = client.is_late || client.ask_within_ms < 0;
  }
}

void Rules::check(const World& world) const {
  int believers = 0;
  for (const Client& client : world.clients) {
    if (!client.believes()) continue;
    if (++believers > 1) throw Violation{"two holders"};
    const auto lock = world.store.keys.find(k_lock);
    if (lock == world.store.keys.end() || lock->second.hash.count(client.owner) == 0)
      throw Violation{"a holder has no lock"};
    if (lock->second.end_ms - k_now_ms < client.left_ms)
      throw Violation{"the lock ends before its holder's lease"};
    const auto count = static_cast<std::size_t>(std::stoi(lock->second.hash.at(client.owner)));
    if (client.pending == Pending::nothing && count != client.holds.size())
      throw Violation{"the count is not that of the holds"};
  }
  for (const auto& [name, value] : world.store.keys) {
    if (value.end_ms != 0 || name == k_token) continue;
    if ((name == k_queue || name == k_scores) && world.looked_foreign) continue;
    throw Violation{name + " has no end"};
  }
  const auto queue = world.store.keys.find(k_queue), scores = world.store.keys.find(k_scores);
  const std::size_t length = queue == world.store.keys.end() ? 0 : queue->second.list.size();
  if (length != (scores == world.store.keys.end() ? 0 : scores->second.zset.size())) {
    throw Violation{"queue and deadlines differ"};
  }
}

std::string Rules::normalise(World& world) {
  // Only the order counts of tokens, and of moments at which waiters came.
  std::set<std::string> tokens, cames;
  const auto longer_last = [](const std::string& text) {
    return std::string(20 - std::min<std::size_t>(text.size(), 20), '0') + text;
  };
  Store& store = world.store;
  const auto counter = store.keys.find(k_token);
  if (counter != store.keys.end()) tokens.insert(longer_last(counter->second.text));
  tokens.insert(longer_last(std::to_string(world.last_token)));
  change_info(store, [&](json& about) {
    if (about.contains("token")) tokens.insert(longer_last(about["token"].get<std::string>()));
    if (about.contains("came")) cames.insert(longer_last(about["came"].get<std::string>()));
    for (const char* name : {"since", "seen"}) {
      if (about.contains(name)) about[name] = 0;
    }
  });
  const auto rank = [&](const std::set<std::string>& all, const std::string& text) {
    const auto at = std::distance(all.find(longer_last(text)), all.end());
    return std::to_string(k_now_us - at);
  };
  change_info(store, [&](json& about) {
    if (about.contains("token")) about["token"] = rank(tokens, about["token"].get<std::string>());
    if (about.contains("came")) about["came"] = rank(cames, about["came"].get<std::string>());
  });
  if (counter != store.keys.end()) counter->second.text = rank(tokens, counter->second.text);
  world.last_token = std::stoll(rank(tokens, std::to_string(world.last_token)));
  std::vector<Client*> waiters;
  for (Client& client : world.clients) {
    if (client.arrival != 0) waiters.push_back(&client);
  }
  std::sort(waiters.begin(), waiters.end(),
            [](const Client* one, const Client* other) { return one->arrival < other->arrival; });
  world.arrivals = 0;
  for (Client* client : waiters) client->arrival = ++world.arrivals;
  store.published.clear();
  store.channels.clear();

  std::string text;
  const auto add = [&](const std::string& part) {
    text += part;
    text += '\n';
  };
  for (const auto& [name, value] : store.keys) {
    add(name + std::to_string(value.end_ms) + value.text);
    for (const auto& [field, content] : value.hash) add(field + "=" + content);
    for (const auto& member : value.list) add(member);
    for (const auto& [score, member] : value.zset) add(member + format_score(score));
  }
  for (const Client& client : world.clients) {
    add(client.owner + std::to_string(static_cast<int>(client.phase)) +
        std::to_string(static_cast<int>(client.pending)) +
        std::to_string(static_cast<int>(client.progress)) + std::to_string(client.arrival) +
        (client.is_revoked ? "r" : "") + (client.is_late ? "l" : "") +
        (client.has_grant ? "g" : "") + " " + std::to_string(client.left_ms) + " " +
        std::to_string(client.ask_within_ms));
    for (const Hold& hold : client.holds) add(hold.id + (hold.is_reentered ? "+" : ""));
  }
  add(std::to_string(world.last_token) + " " + std::to_string(world.faults) +
      (world.looked_foreign ? "f" : ""));
  return text;
}

}  // namespace rlock::explore
