// How a hold of a reentrant lock ends.

#include <algorithm>

#include "base/error.hpp"
#include "lock/kinds/plain/reentrant.hpp"
#include "lock/words/owner_info.hpp"
#include "lua_scripts.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

constexpr Milliseconds k_abandon_bound{250};
// A process that was stopped for longer does not send a release again.
constexpr Milliseconds k_time_to_take_back{1000};

// Throws redis::ServerError if the server refuses the command.
redis::Reply run_command(redis::Client& client, const redis::Args& args, const std::string& key) {
  redis::Reply reply = client.command(args, key);
  if (reply.type == redis::Reply::Type::error) {
    throw redis::ServerError(client.options().endpoint.display(), reply.text);
  }
  return reply;
}

}  // namespace

void ReentrantLock::go_on_with(const Hold& hold) {
  hold_id_ = hold.id;
  is_known_ = true;
  is_outer_ = hold.kind == Hold::Kind::nested;
  is_reentered_ = hold.kind == Hold::Kind::reentered;
  is_unproven_ = is_latched() && !is_outer_;
}

std::string ReentrantLock::standing() const {
  if (is_outer_) return "nested";
  if (is_unproven_) return "unproven";
  return is_reentered_ ? "reentered" : "";
}

bool ReentrantLock::has_ended(redis::Client& client) const {
  // As a reader and as the writer an owner has entries of his own, and either may tell it.
  for (const std::string& of : {owner_, owner_ + ":write"}) {
    const redis::Reply told = run_command(client, {"HGET", keys_.info, of}, keys_.lock);
    if (tells_of_end(told.as_optional_text().value_or(""), hold_id_)) return true;
  }
  return false;
}

ReentrantLock::Question ReentrantLock::release_question(const redis::Client& client,
                                                        Milliseconds keep, Wake wake) const {
  return {lua::release,
          {{keys_.lock, keys_.channel, keys_.info, latch(), keys_.queue, keys_.timeout},
           {owner_, to_argument(memory_of(client)), to_argument(keep), to_argument(added_wait()),
            standing(), wake == Wake::yes ? "1" : "0", shared()}}};
}

Release ReentrantLock::release(redis::Client& client, Milliseconds keep, Wake wake) {
  // Nothing was counted for it, nobody else knows of it, and nothing is to be noted.
  if (is_outer_ && !is_known_ && keep == Milliseconds(0)) {
    return ask(client) == Renewal::lost ? Release::not_held : Release::still_held;
  }
  const TimePoint last =
      after(after(BootClock::now(), client.options().timeout), k_time_to_take_back);
  std::int64_t result = 0;
  try {
    result = run(client, release_question(client, keep, wake)).as_array(1)[0].as_integer();
  } catch (const Error&) {
    take_back(client, keep, last);
    throw;
  }
  // With every request answered, none can still be under way that the latch would have to stop.
  if (unanswered_ == 0) client.send_behind({"DEL", latch()});
  if (result == 2) return Release::not_held;
  return result == 1 ? Release::freed : Release::still_held;
}

void ReentrantLock::abandon(redis::Client& client, Milliseconds keep) noexcept {
  take_back(client, keep, TimePoint::max());
}

// Sends the release, but not after `last`: then the server may have forgotten that it has carried
// it out before.
void ReentrantLock::take_back(redis::Client& client, Milliseconds keep, TimePoint last) noexcept {
  const TimePoint now = BootClock::now();
  if (unanswered_ == 0 || is_outer_ || now >= last) return;
  client.set_wake_fd(-1);
  try {
    // Behind the request on its own connection, the release cannot overtake it, and the latch has
    // no late request to stop. One from an earlier connection may still come.
    const bool is_behind = unanswered_ == 1 && client.awaits_answer();
    const auto [script, call] = release_question(client, keep, Wake::yes);
    if (client.send_behind(script, call)) {
      if (is_behind) client.send_behind({"DEL", latch()});
      client.close_gently(k_abandon_bound);
      return;
    }
    client.run(script, call, nullptr, std::min(last, after(now, k_abandon_bound)));
  } catch (const std::exception&) {  // then its lease ends it
  }
}

}  // namespace rlock::lock
