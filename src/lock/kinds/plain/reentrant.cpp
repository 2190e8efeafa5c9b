#include "lock/kinds/plain/reentrant.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "base/integer.hpp"
#include "base/random.hpp"
#include "lock/servers/fencing.hpp"
#include "lock/servers/refusals.hpp"
#include "lock/servers/restart.hpp"
#include "lock/words/owner_info.hpp"
#include "lock/words/token.hpp"
#include "lua_scripts.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

constexpr std::size_t k_hold_id_bytes = 16;

// For one of several servers.
Terms without_delay(Terms terms) {
  terms.restart_delay = Milliseconds(0);
  return terms;
}

// Returns the token of a grant, if one was to be drawn.
std::optional<std::int64_t> read_token(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto token = parse_token(text);
  if (!token) throw redis::ProtocolError("a fencing token that is no number");
  return token;
}

Busy parse_busy(const std::vector<redis::Reply>& items) {
  constexpr std::int64_t k_no_expiry = -1;
  Busy busy;
  const std::int64_t ttl = items[1].as_integer();
  if (ttl != k_no_expiry) busy.ttl = Milliseconds(std::max<std::int64_t>(ttl, 0));
  busy.owner = items[2].as_text();
  const OwnerInfo info = parse_owner_info(items[3].as_text());
  busy.holder = info.about;
  if (info.since_ms) busy.held_for = Milliseconds(to_integer(items[4].as_text()) - *info.since_ms);
  if (items.size() > 7 && items[6].as_integer() != -1) {
    busy.ask_after = Milliseconds(items[7].as_integer());
    if (items[6].as_integer() >= 0) busy.place = static_cast<int>(items[6].as_integer());
  }
  if (items.size() <= 8) return busy;
  if (items[8].type == redis::Reply::Type::integer) {
    busy.permits = static_cast<int>(items[8].as_integer());
  } else {
    busy.overheard = items[8].as_text();
  }
  return busy;
}

}  // namespace

ReentrantLock::ReentrantLock(const std::string& name, std::string owner, const About& about,
                             const Terms& terms)
    : keys_(name),
      owner_(std::move(owner)),
      about_(to_json(about)),
      terms_(terms),
      hold_id_(random_hex(k_hold_id_bytes)) {
  check_name(name);
}

redis::Reply ReentrantLock::run(redis::Client& client, const Question& question) {
  int unanswered = 0;
  try {
    redis::Reply reply = client.run(question.script, question.call, &unanswered);
    unanswered_ += unanswered;
    return reply;
  } catch (...) {
    unanswered_ += unanswered;
    throw;
  }
}

std::variant<Lease, Busy> ReentrantLock::acquire(redis::Client& client, Join /*join*/,
                                                 const Terms& terms) {
  return request(client, lua::acquire, terms, {keys_.queue}, {});
}

std::variant<Lease, Busy> ReentrantLock::restore(redis::Client& client) {
  return acquire(client, Join::no, without_delay(terms_.lease));
}

std::variant<Lease, Busy> ReentrantLock::request(redis::Client& client, const redis::Script& script,
                                                 const Terms& terms,
                                                 std::vector<std::string> more_keys,
                                                 const std::vector<std::string>& more) {
  const bool fences = terms.fencing != Fencing::off;
  const char* fence = terms.fencing == Fencing::on ? "1" : fences ? "peek" : "0";
  const std::string delay = terms.restart_delay ? to_argument(*terms.restart_delay) : "";
  redis::ScriptArgs call{{keys_.lock, keys_.info, latch()},
                         {to_argument(terms_.lease), owner_, about_, fence, delay}};
  call.keys.insert(call.keys.end(), more_keys.begin(), more_keys.end());
  call.args.insert(call.args.end(), more.begin(), more.end());
  if (fences) call.keys.push_back(keys_.token);  // no other run needs a right to it
  is_unproven_ = is_latched();
  const TimePoint asked = BootClock::now();
  const redis::Reply reply = run(client, {script, call});
  const auto& items = reply.as_array(1);
  switch (items[0].as_integer()) {
    case 0:
      marks_ |= static_cast<int>(reply.as_array(6)[5].as_integer());
      return parse_busy(items);
    case 1: {
      marks_ |= static_cast<int>(reply.as_array(3)[2].as_integer());
      Lease lease{terms.lease, lease_deadline(asked, terms.lease),
                  static_cast<int>(items[1].as_integer()),
                  read_token(reply.as_array(4)[3].as_text())};
      if (terms.restart_delay) lease.server = reply.as_array(5)[4].as_text();
      if (terms.sync_replicas > 0) check_replicas(client, terms.sync_replicas);
      return lease;
    }
    case 3:
      refuse_kind(name(), reply.as_array(2)[1].as_text());
    case 4:
      refuse_counter(name(), reply.as_array(2)[1].as_text());
    case 5:
      if (!forgets_nothing(client))
        refuse_vote(client, Milliseconds(reply.as_array(2)[1].as_integer()), terms);
      return request(client, script, without_delay(terms), std::move(more_keys), more);
    default:
      throw redis::ProtocolError("unexpected reply to a request for the lock");
  }
}

void ReentrantLock::check_replicas(redis::Client& client, int needed) {
  std::int64_t found = 0;
  try {
    found = client.wait_for_replicas(needed, client.options().timeout);
  } catch (...) {
    client.disconnect();  // its server would not read a release before it has ended the wait
    ++unanswered_;        // so that giving up gives the lock back
    throw;
  }
  if (found >= needed) return;
  // Who waits asks again, as somebody else: the latch may bar this hold, and a release without an
  // answer, which is still on its way, must not free what is granted next. Of several servers all
  // are asked by another owner next.
  const auto start_afresh = [this] {
    if (terms_.restart_delay) return;
    hold_id_ = random_hex(k_hold_id_bytes);
    if (is_owner_shared()) return;
    owner_ = with_fresh_uuid(owner_);
    unanswered_ = 0;  // of what he has asked for
  };
  try {
    release(client);
  } catch (const Error&) {
    start_afresh();
    throw;
  }
  start_afresh();
  throw redis::Unavailable(client.options().endpoint.display() + ": " + std::to_string(found) +
                           " replicas know of the lock, and " + std::to_string(needed) +
                           " must: given back");
}

ReentrantLock::Question ReentrantLock::reenter_question(const redis::Client& client) const {
  const Fencing fencing = terms_.fencing;
  Milliseconds memory = memory_of(client);
  if (is_latched()) memory = std::max(memory, 2 * terms_.lease);
  redis::ScriptArgs call{{keys_.lock, latch(), keys_.info},
                         {to_argument(terms_.lease), owner_, to_argument(memory),
                          fencing == Fencing::on    ? "1"
                          : fencing == Fencing::off ? "0"
                                                    : "noted"}};
  if (fencing != Fencing::off) call.keys.push_back(keys_.token);
  return {lua::reenter, std::move(call)};
}

std::optional<Lease> ReentrantLock::reenter(redis::Client& client) {
  is_unproven_ = true;
  const TimePoint asked = BootClock::now();
  const redis::Reply reply = run(client, reenter_question(client));
  const auto& items = reply.as_array(1);
  if (items[0].as_integer() == 4) refuse_counter(name(), reply.as_array(2)[1].as_text());
  if (items[0].as_integer() == 6) refuse_upgrade(name());
  if (items[0].as_integer() != 1) return std::nullopt;
  is_reentered_ = true;
  is_outer_ = reply.as_array(4)[3].as_integer() == 1;
  is_unproven_ = is_latched() && !is_outer_;
  // With every request answered, none can still be under way that the latch would have to stop.
  if (unanswered_ == 0 && !is_latched()) client.send_behind({"DEL", latch()});
  return Lease{terms_.lease,
               lease_deadline(asked, terms_.lease),
               static_cast<int>(items[1].as_integer()),
               read_token(reply.as_array(3)[2].as_text()),
               {},
               is_outer_};
}

ReentrantLock::Question ReentrantLock::renew_question(Milliseconds lease) const {
  const bool is_hold = is_latched() && is_unproven_;
  return {
      lua::renew,
      {{keys_.lock}, {to_argument(lease), owner_, keys_.info, is_hold ? latch() : std::string()}}};
}

Renewal ReentrantLock::renew(redis::Client& client, TimePoint* deadline) const {
  const TimePoint asked = BootClock::now();
  const auto [script, call] = renew_question(terms_.lease);
  const redis::Reply reply =
      client.run(script, call, nullptr, deadline == nullptr ? TimePoint::max() : *deadline);
  if (reply.as_integer() != 1) return Renewal::lost;
  if (deadline != nullptr) *deadline = lease_deadline(asked, terms_.lease);
  return Renewal::renewed;
}

Renewal ReentrantLock::ask(redis::Client& client) const {
  const auto [script, call] = renew_question(Milliseconds(0));
  return client.run(script, call).as_integer() == 1 ? Renewal::renewed : Renewal::lost;
}

}  // namespace rlock::lock
