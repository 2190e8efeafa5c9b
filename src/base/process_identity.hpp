// Tells a process from every other, also from those of another boot or container with its number.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

namespace rlock {

// Returns the identity of a process of this machine, to be compared by `is_running` only; empty
// where the system does not tell.
[[nodiscard]] std::string process_identity(pid_t pid);

// Returns whether the process `pid` with this identity still runs; nothing where that cannot be
// known from here: another machine, boot or container, or an empty identity.
[[nodiscard]] std::optional<bool> is_running(pid_t pid, const std::string& identity);

}  // namespace rlock
