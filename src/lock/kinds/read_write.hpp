// One side of the read/write lock in Redisson's layout: many readers, or one writer.
#pragma once

#include <string>

#include "lock/kinds/kind_operations.hpp"

namespace rlock::lock {

// `side`: Kind::read or Kind::write. The owner is the same on both sides. The writer may read, too,
// and may go on reading when it no longer writes. A reader cannot become the writer. A reader
// renews at least every 10 s, because each renewal of a Redisson reader sets the expiry of the lock
// to 30 s.
[[nodiscard]] KindOperations read_write_operations(const std::string& name, Kind side);

}  // namespace rlock::lock
