#include "explore/quorum_server.hpp"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

namespace rlock::explore::quorum {
namespace {

using nlohmann::json;

const Key k_lock("L");
const Key k_info("rlock_info:{L}");
const std::string k_latch = "redisson_unlock_latch:{L}:";
const Key k_channel("redisson_lock__channel:{L}");
const Key k_queue("redisson_lock_queue:{L}");
const Key k_scores("redisson_lock_timeout:{L}");
const std::string k_about = R"({"host":"h"})";
// As memory_of in lock/servers/question.hpp, with a timeout of a tenth of the lease.
constexpr std::int64_t k_memory_ms = 2 * k_lease_ms / 10 + 60'000 + k_longest_way_ms;
// The most that a server's uptime, in whole seconds, is ahead: it started at the end of one.
constexpr std::int64_t k_cut_off_ms = 1'000;

std::string owner_of(Name name) { return text_of(name) + ":1"; }

// Moments that are for people only would tell worlds apart that are the same.
void forget_moments(Store& store) {
  const auto info = store.keys.find(k_info);
  if (info == store.keys.end()) return;
  for (auto& [field, text] : info->second.hash) {
    json about = json::parse(text, nullptr, false);
    if (!about.is_object()) continue;
    about.erase("seen");
    if (about.contains("since")) about["since"] = 0;
    text = about.dump();
  }
}

std::string text_of(const Store& store, bool with_ends) {
  std::string text;
  for (const auto& [name, value] : store.keys) {
    text += name + "=" + value.text;
    if (with_ends)
      text += "@" + std::to_string(value.end_ms == 0 ? 0 : value.end_ms - store.now_ms);
    for (const auto& [field, content] : value.hash) text += " " + field + "=" + content;
    for (const auto& member : value.list) text += " " + member;
    for (const auto& [score, member] : value.zset) text += " " + member + format_score(score);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string text_of(Name name) { return "n" + std::to_string(name) + "."; }

std::pair<Name, std::size_t> name_at(const std::string& text, std::size_t at) {
  if (text[at] != 'n') return {0, at};
  std::size_t end = at + 1;
  Name name = 0;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0)
    name = name * 10 + (text[end++] - '0');
  if (end == at + 1 || end == text.size() || text[end] != '.') return {0, at};
  return {name, end + 1};
}

const char* name_of(What what) {
  static const char* const names[] = {"take", "renew", "restore", "give back", "forget"};
  return names[static_cast<int>(what)];
}

const Server* Servers::empty() { return intern(Store(), k_always_up); }

const Server* Servers::restarted(int generation) {
  Store store;
  store.now_ms = k_now_ms - Store::k_up_s * 1000 + k_cut_off_ms;
  store.run_id = std::string(40, static_cast<char>('1' + generation % 2));
  return intern(std::move(store), 0);
}

// A key is gone as soon as its time is over. A server lets a millisecond pass: that would only have
// all moments part, and is the lesser risk for a holder.
const Server* Servers::later(const Server* server, std::int64_t ms) {
  const Server*& known = server->later[ms];
  if (known != nullptr) return known;
  Store store = server->store;
  store.advance(ms);
  std::erase_if(store.keys, [&](const auto& key) {
    return key.second.end_ms != 0 && key.second.end_ms <= store.now_ms;
  });
  const bool was_up = server->up_ms == k_always_up;
  const bool is_up = was_up || server->up_ms + ms >= delay_ms_;
  if (is_up) {
    const std::int64_t by = k_now_ms - store.now_ms;
    store.now_ms += by;
    for (auto& [name, value] : store.keys) value.end_ms += value.end_ms == 0 ? 0 : by;
  }
  return known = intern(std::move(store), is_up ? k_always_up : server->up_ms + ms);
}

const Server* Servers::without_latch(const Server* server, Name name) {
  return run(server, {What::forget, name}).server;
}

const Server* Servers::intern(Store store, std::int64_t up_ms) {
  store.published.clear();
  forget_moments(store);
  std::string text = text_of(store, true) +
                     "up: " + (up_ms == k_always_up ? "long" : std::to_string(up_ms)) + "\n";
  if (const auto known = by_text_.find(text); known != by_text_.end()) return known->second;
  Server& server = all_.emplace_back();
  server.content = text_of(store, false);
  const std::string pattern = renamed(text, [&](Name name) {
    auto found = std::find(server.names.begin(), server.names.end(), name);
    if (found == server.names.end()) found = server.names.insert(found, name);
    return "n" + std::to_string(found - server.names.begin()) + ".";
  });
  server.brief = std::to_string(patterns_.try_emplace(pattern, patterns_.size()).first->second);
  for (const Name name : server.names) server.brief += text_of(name);
  for (const auto& [name, value] : store.keys) {
    server.has_endless = server.has_endless || value.end_ms == 0;
    if (name.starts_with(k_latch)) server.latches.push_back(name_at(name, k_latch.size()).first);
    if (name != k_lock) continue;
    server.voters = value.hash.size();
    server.voted = name_at(value.hash.begin()->first, 0).first;
    server.count = std::stoi(value.hash.begin()->second);
    server.left_ms = value.end_ms == 0 ? INT64_MAX : value.end_ms - store.now_ms;
  }
  server.next_ms = store.next_expiry().value_or(0);
  // A second before its time: then a server votes that does not see that its uptime is rounded.
  for (const std::int64_t moment : {delay_ms_ - 1000, delay_ms_}) {
    if (up_ms == k_always_up || up_ms >= moment) continue;
    if (server.next_ms == 0 || moment - up_ms < server.next_ms) server.next_ms = moment - up_ms;
  }
  server.store = std::move(store);
  server.up_ms = up_ms;
  server.text = text;
  by_text_.emplace(std::move(text), &server);
  return &server;
}

Servers::Sent Servers::of(const redis::ScriptCall& call) {
  return {std::string(call.script.name), call.keys, call.args};
}

// As a plain lock asks it (lock/kinds/single_server_lock.cpp, lock/kinds/plain.cpp), where it
// is one of several.
Servers::Sent Servers::sent(const Request& request) const {
  const std::string owner = owner_of(request.name);
  const Key latch(k_latch + text_of(request.name));
  const Milliseconds lease(k_lease_ms);
  switch (request.what) {
    case What::take:
    case What::restore:
      return of(lua::acquire::Call{
          .lock = k_lock,
          .info = k_info,
          .latch = latch,
          .queue = k_queue,
          .token = std::nullopt,
          .lease = lease,
          .owner = owner,
          .about_json = k_about,
          .fencing = "off",
          .restart_delay = Milliseconds(request.what == What::take ? delay_ms_ : 0),
          .channel = std::nullopt,
          .taken = ""});
    case What::renew:
      return of(lua::renew::Call{
          .lock = k_lock, .lease = lease, .owner = owner, .info = k_info, .latch = latch});
    case What::give_back:
      return of(lua::release::Call{.lock = k_lock,
                                   .channel = k_channel,
                                   .info = k_info,
                                   .latch = latch,
                                   .queue = k_queue,
                                   .scores = k_scores,
                                   .owner = owner,
                                   .memory = Milliseconds(k_memory_ms),
                                   .keep = Milliseconds(0),
                                   .wait = Milliseconds(0),
                                   .standing = "unproven",
                                   .wakes = request.wakes,
                                   .is_shared = false});
    case What::forget:
      break;
  }
  return {"", {latch}, {}};
}

const Server::Outcome& Servers::run(const Server* server, const Request& request) {
  const int kind = 2 * static_cast<int>(request.what) + (request.wakes ? 1 : 0);
  const auto [found, is_new] = server->outcomes.try_emplace({kind, request.name});
  Server::Outcome& outcome = found->second;
  if (!is_new) return outcome;
  Store store = server->store;
  const Sent what = sent(request);
  if (request.what == What::forget) {
    outcome.reply = store.run({"del", what.keys[0]});
    outcome.server = intern(std::move(store), server->up_ms);
    return outcome;
  }
  outcome.reply = host_.run(what.script, store, what.keys, what.args);
  // A request that is sent again, as after a lost reply, changes nothing but what it prolongs.
  Store again = store;
  const Reply second = host_.run(what.script, again, what.keys, what.args);
  outcome.server = intern(std::move(store), server->up_ms);
  if (outcome.reply.type == Reply::Type::error) {
    outcome.violation = "a script failed: " + outcome.reply.text;
  } else if (intern(std::move(again), server->up_ms)->content != outcome.server->content) {
    outcome.violation = std::string("sent again, ") + name_of(request.what) + " changed something";
  } else if (second.type != outcome.reply.type || second.integer != outcome.reply.integer ||
             (!second.items.empty() && second.items[0] != outcome.reply.items.at(0))) {
    outcome.violation =
        std::string("sent again, ") + name_of(request.what) + " answered something else";
  }
  return outcome;
}

}  // namespace rlock::explore::quorum
