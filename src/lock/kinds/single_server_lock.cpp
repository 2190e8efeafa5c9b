#include "lock/kinds/single_server_lock.hpp"

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/random.hpp"
#include "base/wording.hpp"
#include "lock/servers/restart.hpp"
#include "lock/words/owner_info.hpp"
#include "lock/words/token.hpp"
#include "lock/words/wrong_kind.hpp"
#include "lua_limits.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

using Standing = Hold::Standing;

constexpr std::size_t k_hold_id_bytes = k_hold_digits / 2;
constexpr Milliseconds k_abandon_bound{250};
// A process that was stopped for longer than this does not send a release again.
constexpr Milliseconds k_time_to_send_release{1000};
// For a waiter in a queue: long enough for a server that pauses, short enough for a user who typed
// Ctrl-C.
constexpr Milliseconds k_give_up_bound{4000};

// Returns the terms for one of several servers, without a restart delay.
Terms without_delay(Terms terms) {
  terms.restart_delay = Milliseconds(0);
  return terms;
}

// Returns the token of a grant, or nothing if `text` is empty.
std::optional<std::int64_t> read_token(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto token = parse_token(text);
  if (!token) throw redis::ProtocolError("a fencing token that is not a number");
  return token;
}

}  // namespace

SingleServerLock::SingleServerLock(KindOperations operations, std::string owner, const About& about,
                                   const Terms& terms)
    : operations_(std::move(operations)),
      owner_(std::move(owner)),
      about_(to_json(about)),
      terms_(terms),
      hold_id_(random_hex(k_hold_id_bytes)) {
  check_name(name());
  if (owner_.ends_with(operations_.owner_ending)) {
    owner_.resize(owner_.size() - operations_.owner_ending.size());
  }
  if (!traits().has_tokens && terms.fencing != Fencing::off) {
    throw Error(ExitStatus::usage,
                escape_for_terminal(name()) +
                    (kind() == Kind::read
                         ? ": a reader has no fencing token: the next reader's token would outdate "
                           "it while both hold the lock"
                         : ": a semaphore has no fencing tokens: the newest one would shut out the "
                           "other holders") +
                    ": leave out --fence");
  }
}

Milliseconds SingleServerLock::renewal_interval() const noexcept {
  return std::min(Lock::renewal_interval(), operations_.longest_renewal_interval);
}

Channel SingleServerLock::channel() const {
  return traits().queues ? Channel{operations_.keys.waiter_channel(owner_)} : operations_.channel;
}

bool SingleServerLock::is_latched() const noexcept {
  return !is_string() && terms_.restart_delay.has_value();
}

RequestContext SingleServerLock::context(const Terms& terms) const {
  return {.keys = operations_.keys,
          .owner = owner_,
          .latch = latch(),
          .about = about_,
          .standing = standing_,
          .terms = terms,
          .is_unproven = is_unproven_,
          .is_known = is_known_,
          .taken = operations_.channel.taken};
}

Hold SingleServerLock::hold(Milliseconds lease, TimePoint asked, std::int64_t count,
                            const std::string& token) const {
  return {.owner = owner_,
          .id = hold_id_,
          .standing = standing_,
          .side = traits().side,
          .token = read_token(token),
          .lease = lease,
          .deadline = lease_deadline(asked, lease),
          .count = static_cast<int>(count)};
}

redis::Reply SingleServerLock::run(redis::Client& client, const redis::ScriptCall& call) {
  int unanswered = 0;
  try {
    redis::Reply reply = client.run(call, &unanswered);
    unanswered_ += unanswered;
    return reply;
  } catch (...) {
    unanswered_ += unanswered;
    throw;
  }
}

Busy SingleServerLock::explain(const lua::taking::Busy& reply) const {
  constexpr std::int64_t k_no_expiry = -1;
  constexpr std::int64_t k_no_place = -1;
  constexpr std::int64_t k_most_waiters = 1'000'000;
  Busy busy;
  if (reply.pttl != k_no_expiry) busy.ttl = Milliseconds(std::max<std::int64_t>(reply.pttl, 0));
  busy.owner = reply.owner;
  const OwnerInfo info = parse_owner_info(reply.about_json);
  busy.holder = info.about;
  if (info.since_ms) busy.held_for = Milliseconds(reply.now - *info.since_ms);
  if (reply.place && *reply.place != k_no_place) {
    if (reply.ask_after) busy.ask_after = Milliseconds(*reply.ask_after);
    if (*reply.place >= 0) busy.place = static_cast<int>(*reply.place);
  }
  if (!busy.held_for && !busy.owner.empty()) {  // nothing is told of the owner
    if (is_string() && !looks_like_owner(busy.owner)) {
      busy.ambiguity = Ambiguity::string;
      busy.owner = start_of(busy.owner);
    } else if (traits().shape != Shape::permits && !is_string() &&
               !looks_like_field_owner(busy.owner)) {
      busy.ambiguity = Ambiguity::hash;
    }
  }
  busy.waiters =
      static_cast<int>(std::clamp<std::int64_t>(reply.waiters.value_or(0), 0, k_most_waiters));
  if (reply.permits) busy.permits = static_cast<int>(*reply.permits);
  // The first rlock waiter must overhear the head: no message says that a Redisson waiter before it
  // has taken the lock.
  const std::string head = reply.overheard.value_or("");
  if (!head.empty()) busy.overheard = operations_.keys.waiter_channel(head);
  return busy;
}

std::variant<Hold, Busy> SingleServerLock::try_acquire(redis::Client& client, Join join) {
  has_queued_ = has_queued_ || join != Join::no;
  const TimePoint last = after(BootClock::now(), client.options().timeout);
  while (true) {
    auto answer = request(client, join, terms_);
    Busy* busy = std::get_if<Busy>(&answer);
    // The server removes dead waiters from a long queue step by step. Ask again for the next step.
    if (busy == nullptr || busy->ask_after != Milliseconds(0)) return answer;
    if (BootClock::now() < last) continue;
    busy->ask_after = lua::k_longest_sleep;
    return answer;
  }
}

std::variant<Hold, Busy> SingleServerLock::restore(redis::Client& client) {
  return request(client, Join::no, without_delay(terms_.lease));
}

std::variant<Hold, Busy> SingleServerLock::request(redis::Client& client, Join join,
                                                   const Terms& terms) {
  is_unproven_ = is_latched();
  const TimePoint asked = BootClock::now();
  const auto answer = lua::taking::read(run(client, operations_.acquire(context(terms), join)));
  if (const auto* busy = std::get_if<lua::taking::Busy>(&answer)) {
    marks_ |= static_cast<int>(busy->marks);
    return explain(*busy);
  }
  if (const auto* granted = std::get_if<lua::taking::Granted>(&answer)) {
    marks_ |= static_cast<int>(granted->marks);
    Hold taken = hold(terms.lease, asked, granted->count, granted->token);
    if (terms.restart_delay) taken.server = granted->run.value_or("");
    if (terms.sync_replicas > 0) check_replicas(client, terms.sync_replicas);
    return taken;
  }
  if (const auto* other = std::get_if<lua::taking::InUse>(&answer)) {
    throw in_use(name(), other->kind);
  }
  if (const auto* none = std::get_if<lua::taking::NoToken>(&answer)) {
    throw no_counter(name(), none->why);
  }
  if (const auto* restarted = std::get_if<lua::taking::Restarted>(&answer)) {
    check_restart(client, Milliseconds(restarted->up), terms);
    return request(client, join, without_delay(terms));
  }
  throw redis::ProtocolError("unexpected reply to a request for the lock");
}

void SingleServerLock::check_replicas(redis::Client& client, int needed) {
  std::int64_t found = 0;
  try {
    found = client.wait_for_replicas(needed, client.options().timeout);
  } catch (...) {
    client.disconnect();  // on this connection, the server reads no release before WAIT ends
    ++unanswered_;        // so that giving up releases the lock
    throw;
  }
  if (found >= needed) return;
  // A waiter asks again as a new owner. The latch may bar this hold, and a late release without an
  // answer must not free the next grant. With several servers, QuorumLock uses a new owner for the
  // next attempt anyway.
  const auto start_afresh = [this] {
    if (terms_.restart_delay) return;
    hold_id_ = random_hex(k_hold_id_bytes);
    // A re-entry needs the same owner.
    if (standing_ != Standing::granted) return;
    owner_ = with_fresh_uuid(owner_);
    unanswered_ = 0;  // the new owner has sent nothing yet
  };
  try {
    release(client);
  } catch (const Error&) {
    start_afresh();
    throw;
  }
  start_afresh();
  throw redis::Unavailable(client.options().endpoint.display() + ": the lock is on " +
                           plural(static_cast<std::size_t>(found), "replica") +
                           ", and must be on " + std::to_string(needed) + ": given back");
}

std::optional<Hold> SingleServerLock::reenter(redis::Client& client) {
  is_unproven_ = true;
  Milliseconds memory = memory_of(client);
  if (is_latched()) memory = std::max(memory, 2 * terms_.lease);
  const TimePoint asked = BootClock::now();
  const auto answer = lua::reentering::read(run(client, operations_.reenter(context(), memory)));
  if (const auto* none = std::get_if<lua::reentering::NoToken>(&answer)) {
    throw no_counter(name(), none->why);
  }
  if (std::holds_alternative<lua::reentering::Reads>(answer)) {
    throw Error(ExitStatus::usage,
                escape_for_terminal(name()) +
                    ": a process above this one reads: a reader cannot become the writer (take "
                    "the write lock first)");
  }
  const auto* entered = std::get_if<lua::reentering::Entered>(&answer);
  if (entered == nullptr) return std::nullopt;
  standing_ = entered->is_uncounted == 1 ? Standing::nested : Standing::reentered;
  is_unproven_ = is_latched() && standing_ != Standing::nested;
  if (terms_.sync_replicas > 0) check_replicas(client, terms_.sync_replicas);
  // All requests are answered, so the latch need not stop a late one.
  if (unanswered_ == 0 && !is_latched()) client.send_pipelined({"DEL", latch()});
  return hold(terms_.lease, asked, entered->count, entered->token);
}

Renewal SingleServerLock::renew(redis::Client& client, TimePoint* deadline) const {
  const TimePoint asked = BootClock::now();
  const auto answer =
      lua::renewing::read(client.run(operations_.renew(context(), terms_.lease), nullptr,
                                     deadline == nullptr ? TimePoint::max() : *deadline));
  if (std::holds_alternative<lua::renewing::NotHeld>(answer)) return Renewal::lost;
  if (deadline != nullptr) *deadline = lease_deadline(asked, terms_.lease);
  return Renewal::renewed;
}

Renewal SingleServerLock::ask(redis::Client& client) const {
  const auto answer =
      lua::renewing::read(client.run(operations_.renew(context(), Milliseconds(0))));
  return std::holds_alternative<lua::renewing::NotHeld>(answer) ? Renewal::lost : Renewal::renewed;
}

void SingleServerLock::go_on_with(const Hold& hold) {
  hold_id_ = hold.id;
  is_known_ = true;
  standing_ = hold.standing;
  is_unproven_ = is_latched() && standing_ != Standing::nested;
}

bool SingleServerLock::has_ended(redis::Client& client) const {
  // An owner has one entry as a reader and one as the writer. Either may note the end.
  for (const std::string& of : {owner_, owner_ + ":write"}) {
    const redis::Reply told =
        client.command({"HGET", operations_.keys.info, of}, operations_.keys.lock);
    if (told.is_error()) throw redis::ServerError(client.options().endpoint.display(), told.text);
    if (tells_of_end(told.as_optional_text().value_or(""), hold_id_)) return true;
  }
  return false;
}

bool SingleServerLock::is_of_master(redis::Client& client) const {
  try {
    return client.confirm_master(name(), redis::k_age_of_word,
                                 after(BootClock::now(), client.options().timeout));
  } catch (const Error&) {
    return true;
  }
}

Release SingleServerLock::release(redis::Client& client, Milliseconds keep, Wake wake) {
  // The server counted nothing for this hold, no other process knows it, and there is nothing to
  // note.
  if (standing_ == Standing::nested && !is_known_ && keep == Milliseconds(0)) {
    return ask(client) == Renewal::lost ? Release::not_held : Release::still_held;
  }
  const TimePoint last =
      after(after(BootClock::now(), client.options().timeout), k_time_to_send_release);
  const TimePoint asked = BootClock::now();
  const auto ask_for_it = [&] {
    return lua::releasing::read(
        run(client, operations_.release(context(), memory_of(client), keep, wake)));
  };
  lua::releasing::Answer answer;
  try {
    answer = ask_for_it();
    // A master that answers that late may be deposed. Then release the lock at the new master.
    if (BootClock::now() >= after(asked, redis::k_age_of_word) && !is_of_master(client)) {
      answer = ask_for_it();
    }
  } catch (const Error&) {
    if (is_in_doubt()) send_release(client, keep, last);
    throw;
  }
  // All requests are answered, so the latch need not stop a late one.
  if (unanswered_ == 0) client.send_pipelined({"DEL", latch()});
  if (std::holds_alternative<lua::releasing::NotHeld>(answer)) return Release::not_held;
  return std::holds_alternative<lua::releasing::Freed>(answer) ? Release::freed
                                                               : Release::still_held;
}

void SingleServerLock::abandon(redis::Client& client) noexcept {
  if (is_in_doubt()) send_release(client, Milliseconds(0));
}

void SingleServerLock::send_release(redis::Client& client, Milliseconds keep,
                                    TimePoint last) noexcept {
  const TimePoint now = BootClock::now();
  if (standing_ == Standing::nested || now >= last) return;
  client.set_wake_fd(-1);
  try {
    // On the connection of the request, the release cannot overtake it. Then the latch has no late
    // request to stop. A request from an earlier connection may still arrive.
    const bool is_behind = !is_in_doubt() || (unanswered_ == 1 && client.awaits_answer());
    const redis::ScriptCall call =
        operations_.release(context(), memory_of(client), keep, Wake::yes);
    if (client.send_pipelined(call)) {
      if (is_behind) client.send_pipelined({"DEL", latch()});
      client.close_gently(k_abandon_bound);
      return;
    }
    client.run(call, nullptr, std::min(last, after(now, k_abandon_bound)));
  } catch (const std::exception&) {  // then the lock ends with its lease
  }
}

void SingleServerLock::stop_waiting(redis::Client& client) noexcept {
  if (!traits().queues || !has_queued_) return abandon(client);
  client.set_wake_fd(-1);
  client.set_timeout(k_give_up_bound);
  try {
    release(client);
  } catch (const std::exception&) {  // then the waiters behind it find it dead
  }
}

}  // namespace rlock::lock
