// Tells a process from every other process, even from a process with the same number in another
// boot or container.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

namespace rlock {

// Returns the identity of a process of this machine for `is_running`, empty if it is hidden.
[[nodiscard]] std::string process_identity(pid_t pid);

// Returns whether the process `pid` with this identity still runs. Returns nothing if that is
// unknown here: the process is of another machine, boot or container, or the identity is empty.
[[nodiscard]] std::optional<bool> is_running(pid_t pid, const std::string& identity);

// Returns whether the process `pid` with this identity is this process, its parent, its parent's
// parent, and so on. Returns false if that is unknown here.
[[nodiscard]] bool is_this_or_above(pid_t pid, const std::string& identity);

}  // namespace rlock
