#include "lock/reentrant.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/random.hpp"
#include "lock/owner_info.hpp"
#include "lua_scripts.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

// How long the server remembers a request: longer than one can be under way.
constexpr Milliseconds k_remember{30'000};
constexpr Milliseconds k_abandon_bound{250};
constexpr std::size_t k_id_bytes = 16;

std::string text(Milliseconds span) { return std::to_string(span.count()); }

std::int64_t number(const std::string& digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

[[noreturn]] void refuse_kind(const std::string& name, const std::string& kind) {
  throw Error(ExitStatus::wrong_kind, escape_for_terminal(name) +
                                          ": the name is in use by another kind of lock (" +
                                          escape_for_terminal(kind) + ")");
}

Busy parse_busy(const std::vector<redis::Reply>& items) {
  constexpr std::int64_t k_no_expiry = -1;
  Busy busy;
  const std::int64_t ttl = items[1].as_integer();
  if (ttl != k_no_expiry) busy.ttl = Milliseconds(std::max<std::int64_t>(ttl, 0));
  busy.owner = items[2].as_text();
  const OwnerInfo info = parse_owner_info(items[3].as_text());
  busy.holder = info.about;
  if (info.since_ms) busy.held_for = Milliseconds(number(items[4].as_text()) - *info.since_ms);
  if (items.size() > 7 && items[6].as_integer() != -1) {
    busy.ask_after = Milliseconds(items[7].as_integer());
    if (items[6].as_integer() >= 0) busy.place = static_cast<int>(items[6].as_integer());
  }
  return busy;
}

}  // namespace

std::string kind_name(Kind kind) { return kind == Kind::fair ? "fair" : "reentrant"; }

ReentrantLock::ReentrantLock(const std::string& name, std::string owner, const About& about,
                             Milliseconds lease)
    : keys_(name),
      owner_(std::move(owner)),
      about_(to_json(about)),
      lease_(lease),
      hold_id_(random_hex(k_id_bytes)) {
  check_name(name);
}

redis::Reply ReentrantLock::run(redis::Client& client, const redis::Script& script,
                                const redis::ScriptArgs& call) {
  int unanswered = 0;
  try {
    redis::Reply reply = client.run(script, call, &unanswered);
    unanswered_ += unanswered;
    return reply;
  } catch (...) {
    unanswered_ += unanswered;
    throw;
  }
}

std::variant<Lease, Busy> ReentrantLock::try_acquire(redis::Client& client, Join /*join*/) {
  return request(client, lua::acquire, {keys_.queue}, {});
}

std::variant<Lease, Busy> ReentrantLock::request(redis::Client& client, const redis::Script& script,
                                                 std::vector<std::string> more_keys,
                                                 const std::vector<std::string>& more) {
  redis::ScriptArgs call{{keys_.lock, keys_.info, keys_.latch(hold_id_)},
                         {text(lease_), owner_, about_}};
  call.keys.insert(call.keys.end(), more_keys.begin(), more_keys.end());
  call.args.insert(call.args.end(), more.begin(), more.end());
  const TimePoint asked = BootClock::now();
  const redis::Reply reply = run(client, script, call);
  const auto& items = reply.as_array(1);
  switch (items[0].as_integer()) {
    case 0:
      is_mixed_ = is_mixed_ || reply.as_array(6)[5].as_integer() == 1;
      return parse_busy(items);
    case 1:
      is_mixed_ = is_mixed_ || reply.as_array(3)[2].as_integer() == 1;
      return Lease{lease_, lease_deadline(asked, lease_), static_cast<int>(items[1].as_integer())};
    case 3:
      refuse_kind(name(), reply.as_array(2)[1].as_text());
    default:
      throw redis::ProtocolError("unexpected reply to a request for the lock");
  }
}

std::optional<Lease> ReentrantLock::reenter(redis::Client& client) {
  const TimePoint asked = BootClock::now();
  const redis::Reply reply =
      run(client, lua::reenter,
          {{keys_.lock, keys_.latch(hold_id_)}, {text(lease_), owner_, text(k_remember)}});
  const auto& items = reply.as_array(1);
  if (items[0].as_integer() != 1) return std::nullopt;
  return Lease{lease_, lease_deadline(asked, lease_),
               static_cast<int>(reply.as_array(2)[1].as_integer())};
}

Renewal ReentrantLock::renew(redis::Client& client, TimePoint* deadline) const {
  const TimePoint asked = BootClock::now();
  const redis::Reply reply =
      client.run(lua::renew, {{keys_.lock, keys_.info}, {text(lease_), owner_}}, nullptr,
                 deadline == nullptr ? TimePoint::max() : *deadline);
  if (reply.as_integer() != 1) return Renewal::lost;
  if (deadline != nullptr) *deadline = lease_deadline(asked, lease_);
  return Renewal::renewed;
}

Renewal ReentrantLock::ask(redis::Client& client) const {
  const redis::Reply reply = client.run(lua::renew, {{keys_.lock, keys_.info}, {"0", owner_}});
  return reply.as_integer() == 1 ? Renewal::renewed : Renewal::lost;
}

redis::ScriptArgs ReentrantLock::release_args(Milliseconds keep) const {
  return {
      {keys_.lock, keys_.channel, keys_.info, keys_.latch(hold_id_), keys_.queue, keys_.timeout},
      {owner_, text(k_remember), text(keep), text(added_wait())}};
}

Release ReentrantLock::release(redis::Client& client, Milliseconds keep) {
  std::int64_t result = 0;
  try {
    result = run(client, lua::release, release_args(keep)).as_array(1)[0].as_integer();
  } catch (const Error&) {
    abandon(client, keep);
    throw;
  }
  // With every request answered, none can still be under way that the latch would have to stop.
  if (unanswered_ == 0) client.send_behind({"DEL", keys_.latch(hold_id_)});
  if (result == 2) return Release::not_held;
  return result == 1 ? Release::freed : Release::still_held;
}

void ReentrantLock::abandon(redis::Client& client, Milliseconds keep) noexcept {
  if (unanswered_ == 0) return;
  client.set_wake_fd(-1);
  try {
    // Behind the request on its own connection, the release cannot overtake it, and the latch has
    // no late request to stop.
    if (client.send_behind(lua::release, release_args(keep))) {
      if (unanswered_ == 1) client.send_behind({"DEL", keys_.latch(hold_id_)});
      client.close_gently(k_abandon_bound);
      return;
    }
    client.run(lua::release, release_args(keep), nullptr, after(BootClock::now(), k_abandon_bound));
  } catch (const std::exception&) {  // then its lease ends it
  }
}

}  // namespace rlock::lock
