// What rlock promises, as checks of a world. Each throws Violation.
#pragma once

#include <string>

#include "explore/layout.hpp"
#include "explore/search.hpp"
#include "explore/world.hpp"

namespace rlock::explore {

// What holds in every world.
void check(const Layout& layout, const World& world);

// What holds at each grant, whether its reply arrives or not. `client` need not be one of the
// world's: it may have crashed.
void check_grant(const Layout& layout, World& world, Client& client, const Reply& reply);

// What holds after `client` has given its last hold back, or its place in the queue. `is_freed`:
// the server says that it had the lock, and has it no longer.
void check_gone(const Layout& layout, const World& world, const Client& client, const Hold& last,
                bool is_freed);

// What holds after a request has arrived late whose run had given everything back before.
void check_still_gone(const Layout& layout, const World& world, const Flight& flight);

// What holds after every request: those who wait are told that the lock is taken only if it is.
void check_taken(const Layout& layout, const World& world);

// What holds after a release that has freed something.
void check_woken(const Layout& layout, const World& world, const Client& client);

// What holds after `doctor --repair` has found something to mend. `before`: how it was.
void check_repaired(const Layout& layout, const World& before, const World& world);

// A waiter that was silent for so long that nothing tells of it any more looks like one of another
// library, whose queues have no end. The next of its waiters that asks mends that.
[[nodiscard]] bool looks_foreign(const Store& store);
[[nodiscard]] bool is_endless(const Store& store);

}  // namespace rlock::explore
