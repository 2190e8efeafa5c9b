// A side of the read/write lock in Redisson's layout: many readers, or one writer.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

// `side`: Kind::read or Kind::write. The writer may read, too, and go on reading when it writes no
// longer; a reader cannot become the writer. A reader renews at least every 10 s: Redisson's
// readers shorten the life of all to 30 s.
[[nodiscard]] Layout read_write_layout(const std::string& name, Kind side);

// Returns the owner of either side for `owner`, which may be the hash's field of a writer.
[[nodiscard]] std::string without_side(const std::string& owner);

}  // namespace rlock::lock
