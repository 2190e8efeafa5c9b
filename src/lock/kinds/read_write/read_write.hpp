// A side of the read/write lock in Redisson's layout: many readers, or one writer.
#pragma once

#include <string>

#include "lock/kinds/layout.hpp"

namespace rlock::lock {

// `side`: Kind::read or Kind::write. The writer may read, too, and go on reading when it writes no
// longer; a reader cannot become the writer. A reader renews at least every 10 s: Redisson's
// readers shorten the life of all to 30 s. The owner is the same for both sides.
[[nodiscard]] Layout read_write_layout(const std::string& name, Kind side);

}  // namespace rlock::lock
