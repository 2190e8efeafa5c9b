#include "explore/moments.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

namespace rlock::explore {
namespace {

using nlohmann::json;
using Phase = Client::Phase;

constexpr std::int64_t k_now_us = k_now_ms * 1000;
// Older moments make no difference to any script.
constexpr std::int64_t k_oldest_ms = 61'000;
// Deadlines are told from these, also long after.
constexpr std::int64_t k_oldest_base_ms = 900'000;

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

bool names(const Flight& flight, const std::string& text) {
  const auto has = [&](const std::string& word) { return word.find(text) != std::string::npos; };
  return std::any_of(flight.sent.keys.begin(), flight.sent.keys.end(), has) ||
         std::any_of(flight.sent.args.begin(), flight.sent.args.end(), has) || has(flight.run);
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
    if (field == "holder" || field == "permits") continue;
    const bool is_untouched = text.starts_with("{ ");  // see lua/include/telling.lua
    json about = json::parse(text);
    change(about);
    text = (is_untouched ? "{ " : "{") + about.dump().substr(1);
  }
}

void shift(json& about, const char* name, std::int64_t by, std::int64_t oldest_ms = k_oldest_ms) {
  const auto found = about.find(name);
  if (found == about.end() || !found->is_number()) return;
  *found = std::max(found->get<std::int64_t>() - by, k_now_ms - oldest_ms);
}

// Moves the moments of a sorted set. `oldest_ms`: those longer ago make no difference.
void shift_scores(Store& store, const std::string& key, std::int64_t by, std::int64_t oldest_ms) {
  const auto found = store.keys.find(key);
  if (found == store.keys.end()) return;
  for (auto& [score, member] : found->second.zset) {
    score = std::max(score - static_cast<double>(by), static_cast<double>(k_now_ms - oldest_ms));
  }
  std::sort(found->second.zset.begin(), found->second.zset.end());
}

std::string longer_last(const std::string& text) {
  return std::string(20 - std::min<std::size_t>(text.size(), 20), '0') + text;
}

// Only the order counts of tokens, and of moments at which waiters came.
void rank_tokens(World& world) {
  std::set<std::string> tokens, cames;
  Store& store = world.store;
  const auto counter = store.keys.find(k_token);
  if (counter != store.keys.end()) tokens.insert(longer_last(counter->second.text));
  tokens.insert(longer_last(std::to_string(world.last_token)));
  change_info(store, [&](json& about) {
    if (about.contains("token")) tokens.insert(longer_last(about["token"].get<std::string>()));
    if (about.contains("came")) cames.insert(longer_last(about["came"].get<std::string>()));
    about.erase("seen");  // for people only
    if (about.contains("since")) about["since"] = 0;
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
}

void rank_arrivals(World& world) {
  std::vector<Client*> waiters;
  for (Client& client : world.clients) {
    if (client.arrival != 0) waiters.push_back(&client);
  }
  std::sort(waiters.begin(), waiters.end(),
            [](const Client* one, const Client* other) { return one->arrival < other->arrival; });
  world.arrivals = 0;
  for (Client* client : waiters) client->arrival = ++world.arrivals;
}

std::string text_of(const Hold& hold) {
  return hold.id + (hold.writes ? "w" : "") + (hold.is_reentered ? "+" : "") +
         (hold.is_outer ? "o" : "") + (hold.is_unproven ? "?" : "") +
         (hold.is_unanswered ? "!" : "") + (hold.is_returned ? "r" : "") +
         (hold.is_known ? "K" : "");
}

std::string text_of(const Client& client) {
  std::string text = client.owner;
  for (const int part : {static_cast<int>(client.phase), static_cast<int>(client.pending),
                         client.pending_hold, static_cast<int>(client.progress), client.arrival})
    text += " " + std::to_string(part);
  text += (client.is_revoked ? "r" : "") + std::string(client.is_late ? "l" : "") +
          (client.can_be_dropped ? "d" : "") + (client.has_grant ? "g" : "") + " " +
          std::to_string(client.left_ms) + " " + std::to_string(client.ask_within_ms);
  if (client.pending != Client::Pending::nothing && client.pending_keep_ms > 0)
    text += " " + std::to_string(client.pending_keep_ms);
  for (const Hold& hold : client.holds) text += "\n" + text_of(hold);
  return text;
}

std::string text_of(const Flight& flight) {
  if (!flight.is_there()) return "";
  std::string text = flight.sent.script + " " + flight.run + " " + flight.owner + " " +
                     text_of(flight.hold) + " " + std::to_string(flight.left_ms) + " " +
                     std::to_string(flight.keep_ms) + (flight.was_queued ? "q" : "") +
                     (flight.is_over ? "o" : "") + (flight.is_ended ? "e" : "");
  if (flight.what == Client::Pending::nothing) {  // the others follow from what is told already
    for (const std::string& word : flight.sent.keys) text += " " + word;
    for (const std::string& word : flight.sent.args) text += " " + word;
  }
  return text;
}

}  // namespace

std::string fresh(const World& world, char letter, const std::string& suffix) {
  for (int i = 1;; ++i) {
    std::string name = std::string(1, letter) + std::to_string(i) + suffix;
    bool is_used = is_known(world.store, name);
    for (const Client& client : world.clients) {
      is_used = is_used || client.owner == name;
      for (const Hold& hold : client.holds) is_used = is_used || hold.id == name;
    }
    for (const Flight& flight : world.flights)
      is_used = is_used || flight.hold.id == name || names(flight, name);
    if (!is_used) return name;
  }
}

std::int64_t pass(World& world) {
  std::int64_t next = 3'600'000;
  const auto consider = [&](std::int64_t in) {
    if (in > 0) next = std::min(next, in);
  };
  if (const auto expiry = world.store.next_expiry()) consider(*expiry);
  for (const Client& client : world.clients) {
    if (client.phase == Phase::holding) consider(client.left_ms);
    if (client.phase == Phase::waiting) consider(client.ask_within_ms + 1);
  }
  for (const Flight& flight : world.flights) consider(flight.left_ms);
  for (const Kept& kept : world.kept) consider(kept.left_ms);
  change_info(world.store, [&](json& about) {
    if (about.contains("due")) consider(field_ms(about, "due") + 1 - k_now_ms);
    if (about.contains("at")) {
      consider(field_ms(about, "at") + 8'001 - k_now_ms);
      consider(field_ms(about, "at") + 15'001 - k_now_ms);
    }
  });
  if (const Value* out = find(world.store, k_permits); out != nullptr) {
    for (const auto& [end, holder] : out->zset) consider(static_cast<std::int64_t>(end) - k_now_ms);
  }
  if (const Value* scores = find(world.store, k_scores);
      scores != nullptr && std::any_of(world.clients.begin(), world.clients.end(),
                                       [](const Client& client) { return client.is_redisson; })) {
    for (const auto& [score, waiter] : scores->zset)
      consider(static_cast<std::int64_t>(score) - k_now_ms);
  }
  world.store.pass(next);
  shift_scores(world.store, k_scores, next, 1'000);
  shift_scores(world.store, k_permits, next, 1);
  change_info(world.store, [&](json& about) {
    for (const char* name : {"due", "at", "kept", "outlived"}) shift(about, name, next);
    for (const char* name : {"base", "tail"}) shift(about, name, next, k_oldest_base_ms);
  });
  for (Client& client : world.clients) {
    client.left_ms = std::max<std::int64_t>(client.left_ms - next, -1);
    // Nobody sends a renewal after the end of the lease.
    if (client.left_ms <= 0 && client.pending == Client::Pending::renew)
      client.pending = Client::Pending::nothing;
    if (client.phase != Phase::waiting) continue;
    const bool listens = client.listens();
    client.ask_within_ms = std::max<std::int64_t>(client.ask_within_ms - next, -1);
    // 0 says that it was not told to wait.
    if (listens && client.ask_within_ms == 0) client.ask_within_ms = 1;
    client.is_late = client.is_late || client.ask_within_ms < 0;
  }
  for (Kept& kept : world.kept) kept.left_ms = std::max<std::int64_t>(kept.left_ms - next, 0);
  for (Flight& flight : world.flights) {
    if (flight.is_there() && (flight.left_ms -= next) <= 0) flight = Flight{};
  }
  return next;
}

void set_back(World& world) {
  constexpr std::int64_t k_back_ms = 3'600'000;
  world.was_set_back = true;
  for (auto& [name, value] : world.store.keys) {
    if (value.end_ms > k_now_ms + 1) value.end_ms += k_back_ms;  // what is over stays so
  }
  shift_scores(world.store, k_scores, -k_back_ms, 1'000);
  shift_scores(world.store, k_permits, -k_back_ms, 1);
  change_info(world.store, [&](json& about) {
    for (const char* name : {"due", "at", "kept", "outlived"}) shift(about, name, -k_back_ms);
  });
}

std::string normalise(World& world) {
  rank_tokens(world);
  rank_arrivals(world);
  Store& store = world.store;
  store.published.clear();
  store.messages.clear();
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
  for (const Client& client : world.clients) add(text_of(client));
  for (const std::string& owner : world.unsure) add("unsure of " + owner);
  for (const Flight& flight : world.flights) add(text_of(flight));
  for (const Kept& kept : world.kept)
    add("kept " + kept.owner + (kept.writes ? "w" : "") + (kept.is_counted ? "c" : "") +
        (kept.is_sure ? "s" : "") + (kept.was_reentered ? "r" : "") + std::to_string(kept.left_ms));
  add(std::to_string(world.last_token) + " " + std::to_string(world.faults) +
      (world.looked_foreign ? "f" : "") + (world.lost_end ? "e" : "") +
      (world.was_set_back ? "b" : ""));
  return text;
}

}  // namespace rlock::explore
