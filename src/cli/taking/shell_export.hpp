// Shell code that tells a shell of the lock that it holds, for `eval`.
#pragma once

#include <string>

#include "cli/taking/taking.hpp"

namespace rlock::cli {

enum class Shell { posix, fish };  // posix: sh, bash, dash, ksh and zsh

// Returns what RLOCK_HELD tells, without the holds of the wished lock that were given back: a shell
// that lives for long would collect them. Where there would be no room for one hold more, it is
// also without other locks that the server says were given back. Throws Error (usage) if there is
// no room all the same, and as lock::Lock does.
[[nodiscard]] std::string held_to_export(const lock::Wish& wish, lock::Session& session);

// Returns shell code that exports RLOCK_NAME, RLOCK_OWNER, RLOCK_KIND, RLOCK_HELD, which is
// `others` with this hold, and RLOCK_TOKEN if there is a token.
[[nodiscard]] std::string export_code(const Taken& taken, const std::string& others, Shell shell);

// Returns shell code that has the shell's `eval` return this status: that of no code is 0, as if
// the lock was there.
[[nodiscard]] std::string failure_code(int status, Shell shell);

}  // namespace rlock::cli
