// Held locks in the environment: of a command, and of a shell by code for its `eval`.
#pragma once

#include <string>
#include <vector>

#include "cli/taking/held_locks.hpp"
#include "cli/taking/taking.hpp"

namespace rlock::cli {

// Throws Error (usage) if RLOCK_HELD may have no room for `run` as a holder of the locks `names`,
// beside those of outer runs. Without an entry, a nested run would wait for its lock forever. The
// owner and the value are those of `wish`.
void check_room(const std::vector<std::string>& names, const lock::Wish& wish,
                const std::string& run);

// Returns this process's environment as NAME=value, with RLOCK_NAME, RLOCK_OWNER, RLOCK_KIND,
// RLOCK_HELD and RLOCK_TOKEN set for `locks`. `run` identifies this run among the runs that hold
// the same locks. An inherited RLOCK_TOKEN stays only if it belongs to the same hold.
[[nodiscard]] std::vector<std::string> make_environment(const HeldLocks& locks,
                                                        const std::string& run);

enum class Shell { posix, fish };  // posix: sh, bash, dash, ksh and zsh

// Returns RLOCK_HELD without the holds of the wished lock that were given back, which a shell would
// collect. If that leaves no room for one more hold, asks the server which other locks were given
// back, too. Throws Error (usage) if there is still no room, and as lock::Lock.
[[nodiscard]] std::string held_to_export(const lock::Wish& wish, lock::Session& session);

// Returns shell code that exports RLOCK_NAME, RLOCK_OWNER, RLOCK_KIND, RLOCK_HELD, and RLOCK_TOKEN
// if there is a token. RLOCK_HELD is `others` with this hold added.
[[nodiscard]] std::string export_code(const HeldLock& one, const std::string& others, Shell shell);

// Returns shell code that makes the shell's `eval` return this status. Without code, `eval` would
// return 0, as if the lock was acquired.
[[nodiscard]] std::string failure_code(int status, Shell shell);

}  // namespace rlock::cli
