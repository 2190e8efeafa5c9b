// Who holds a lock, and what a wait is for, in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "lock/words/busy.hpp"
#include "lock/words/owner.hpp"

namespace rlock::cli {

// Returns what a wait is for, such as "waiting 3s (27s left) for web1 pid 4242 (backup)"; without
// the time left where `deadline` is TimePoint::max(). Harmless for a terminal.
[[nodiscard]] std::string describe_wait(const lock::Busy& busy, Milliseconds waited,
                                        TimePoint deadline);

// Returns who holds a lock, for people: `web1 pid 4242 (backup) "note"`, or the owner where no more
// is known. Harmless for a terminal.
[[nodiscard]] std::string describe_holder(const std::string& owner, const lock::About& about);

// Returns "kept until 2026-11-21T01:59:22.516Z after the run of web1 pid 4242 (backup) ended",
// where --at-least keeps the lock after its run; nothing where the run goes on. Harmless for a
// terminal.
[[nodiscard]] std::optional<std::string> describe_kept(const std::string& owner,
                                                       const lock::About& about);

// What stands before a statement on a string of which nothing tells that it is a lock.
inline constexpr const char* k_if_lock = "a string; if it is a lock, it is ";

// Returns the same as describe_kept, or "held by web1 pid 4242 (backup)".
[[nodiscard]] std::string describe_hold(const std::string& owner, const lock::About& about);

// Returns "expires in 29s", or "without an expiry" if `ttl_ms` is negative.
[[nodiscard]] std::string describe_expiry(std::int64_t ttl_ms);

// Why a lock is lost that the server does not know as this run's any more.
inline constexpr const char* k_not_ours = "it was deleted or evicted, or somebody else has it";

// Returns "NAME: lock lost: WHY".
[[nodiscard]] std::string describe_loss(const std::string& name, const std::string& why);

}  // namespace rlock::cli
