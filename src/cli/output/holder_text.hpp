// Who holds a lock, in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lock/words/owner.hpp"

namespace rlock::cli {

// Returns who holds a lock, for people: `web1 pid 4242 (backup) "note"`, or the owner where no more
// is known. Harmless for a terminal.
[[nodiscard]] std::string describe_holder(const std::string& owner, const lock::About& about);

// Returns "kept by --at-least until 2026-11-21T01:59:22.516Z after the run of web1 pid 4242
// (backup) ended", or nothing if --at-least does not keep the lock after its run. Harmless for a
// terminal.
[[nodiscard]] std::optional<std::string> describe_kept(const std::string& owner,
                                                       const lock::About& about);

// Returns "all 3 waiters are dead", or "1 of 3 waiters is dead".
[[nodiscard]] std::string describe_dead(std::size_t dead, std::size_t waiters);

// Returns the start of a statement about what may be no lock: "a string; if it is a lock, it is ".
// Returns an empty text for a lock.
[[nodiscard]] std::string if_lock(lock::Ambiguity ambiguity);

// What to do about a hash, or a string, that may be no lock and has no expiry.
inline constexpr const char* k_break_any_string =
    "find out what wrote it; if it is a lock, and its holder is gone: unlock --force --kind simple";
inline constexpr const char* k_break_any_hash =
    "find out what wrote it; if it is a lock, and its holder is gone: unlock --force --kind hash";

// Returns "expires in 29s", or "without an expiry" if `ttl_ms` is negative.
[[nodiscard]] std::string describe_expiry(std::int64_t ttl_ms);

// Why a lock is lost that the server does not know as this run's any more.
inline constexpr const char* k_not_ours = "it was deleted or evicted, or somebody else has it";

// Returns "NAME: lock lost: WHY".
[[nodiscard]] std::string describe_loss(const std::string& name, const std::string& why);

}  // namespace rlock::cli
