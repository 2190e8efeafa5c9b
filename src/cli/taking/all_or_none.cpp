#include "cli/taking/all_or_none.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

constexpr Milliseconds k_shortest_patience{2000};
constexpr unsigned k_spread_ms = 2000;  // so that runs that wait for each other differ
// How often a lock may be lost in spite of short waits, before its loss is reported.
constexpr int k_most_vain = 3;

TimePoint end_of_try() {
  return after(BootClock::now(), k_shortest_patience + Milliseconds(random_below(k_spread_ms)));
}

// Sets one owner for all locks. Only the twin of another name gets another owner, because
// Redisson's keys for the holds of "a" and of "{a}" differ only in the owner.
void set_owner(std::vector<Request>& requests, const std::string& owner) {
  for (Request& request : requests) {
    lock::Wish& wish = request.wish;
    const bool is_second =
        wish.name.starts_with('{') && std::ranges::any_of(requests, [&](const Request& other) {
          return lock::brace_alias(wish.name) == other.wish.name;
        });
    wish.owner = is_second ? lock::with_fresh_uuid(owner) : owner;
  }
}

}  // namespace

bool take_all(std::vector<Request> requests, const Globals& globals, lock::Session& session,
              HeldLocks& locks) {
  bool has_waited = false;  // for the lock that was asked for last
  bool has_waited_long = false;
  bool is_one_left = false;  // of our own: who waits then may wait for that
  int vain = 0;
  const auto renew_owner = [&] {
    set_owner(requests, lock::with_fresh_uuid(requests.front().wish.owner));
  };
  const auto release_all = [&] {
    is_one_left = !locks.release_all();
    has_waited_long = false;
    // By another owner, whose locks no release that is still on its way can free.
    renew_owner();
  };
  if (requests.size() > 1) set_owner(requests, requests.front().wish.owner);
  for (Request& request : requests) {
    request.on_wait = [&has_waited, on_wait = std::move(request.on_wait)] {
      has_waited = true;
      on_wait();
    };
  }
  for (auto next = requests.begin(); next != requests.end();) {
    if (next != requests.begin()) {
      locks.start_watchdog(HeldLocks::Use::own_session);  // renews the locks that are already held
      next->try_end = end_of_try();
      // Other nodes may keep the locks that are held, and these are not to wait for this one.
      if (session.client().is_cluster()) next->outage_end = next->try_end;
    }
    // Its refusal is reported; that of a try that ends by `try_end` is not.
    const bool is_last_try = next->try_end >= next->deadline;
    std::optional<HeldLock> held;
    has_waited = false;
    const TimePoint asked = BootClock::now();
    try {
      const TimePoint deadline = next->deadline;
      wait_for_server(*next, globals, session, renew_owner,
                      [&] { held = take(*next, globals, session); });
      // The wait for the server is over for all of them.
      for (Request& request : requests) {
        if (next->deadline != deadline) request.deadline = next->deadline;
      }
    } catch (const Error& error) {
      // The node of this lock hangs: it is waited for without the others.
      const TimePoint now = BootClock::now();
      if (!error.is_temporary() || now < next->outage_end || now >= next->deadline) throw;
    }
    next->try_end = next->outage_end = TimePoint::max();
    for (Request& request : requests) request.server_was_there = true;
    const bool is_taken = held.has_value();
    if (is_taken) locks.add(std::move(*held));
    locks.check_watchdog();
    if (is_taken) {
      ++next;
      const TimePoint now = BootClock::now();
      const bool is_for_others = has_waited && !is_one_left;
      if (is_for_others && now >= after(asked, k_shortest_patience)) has_waited_long = true;
      if (next != requests.end() || !locks.is_lost() || now >= requests[0].deadline) continue;
      if (!has_waited_long && ++vain == k_most_vain) continue;
      release_all();  // one was lost meanwhile: from the beginning
      next = requests.begin();
      continue;
    }
    release_all();
    if (is_last_try) return false;
    std::rotate(requests.begin(), next, next + 1);
    next = requests.begin();
  }
  return true;
}

}  // namespace rlock::cli
