#include "cli/all_or_none.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/random.hpp"

namespace rlock::cli {
namespace {

constexpr Milliseconds k_shortest_patience{2000};
constexpr unsigned k_spread_ms = 2000;  // sets those apart who wait for each other

TimePoint end_of_patience() {
  return after(BootClock::now(), k_shortest_patience + Milliseconds(random_below(k_spread_ms)));
}

}  // namespace

bool take_all(std::vector<Request> requests, const Globals& globals, lock::Session& session,
              HeldLocks& locks) {
  const auto let_go = [&] {
    locks.let_go();
    // By another owner, whose locks no release that is still on its way can free.
    const std::string owner = lock::with_fresh_uuid(requests.front().wish.owner);
    for (Request& request : requests) {
      if (request.wish.value == lock::Value::fresh) request.wish.owner = owner;
    }
  };
  for (auto next = requests.begin(); next != requests.end();) {
    if (next != requests.begin()) {
      locks.start_watchdog();  // for those that are held meanwhile
      next->patience = end_of_patience();
    }
    auto taken = take(*next, globals, session);
    next->patience = TimePoint::max();
    for (Request& request : requests) request.server_was_there = true;
    if (taken) {
      locks.add(std::move(*taken));
      ++next;
      if (next != requests.end() || !locks.is_lost() || BootClock::now() >= requests[0].deadline) {
        continue;
      }
      let_go();  // one was lost meanwhile: from the beginning
      next = requests.begin();
      continue;
    }
    let_go();
    if (BootClock::now() >= next->deadline) return false;
    std::rotate(requests.begin(), next, next + 1);
    next = requests.begin();
  }
  return true;
}

}  // namespace rlock::cli
