// The events of a lock as text for people, and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output/paint.hpp"
#include "cli/watching/lock_follower.hpp"

namespace rlock::cli {

// Returns "held by web1 pid 42 (backup), expires in 29s", for example. Harmless for a terminal, and
// painted.
[[nodiscard]] std::string describe_event(const LockEvent& event, const lock::Snapshot& snapshot,
                                         const Paint& paint);

// Returns how many permits are available and how many wait: ", 1 of 3 permits available, 2
// waiting". Returns an empty text if there are neither permits nor waiters.
[[nodiscard]] std::string describe_waiting(const lock::Snapshot& snapshot);

// Return a line, with its newline: `text`, which must be harmless for a terminal, of a lock at a
// time (ms since 1970); an event; or why the server is not available.
[[nodiscard]] std::string text_line(std::int64_t time_ms, const std::string& name,
                                    const std::string& text);
[[nodiscard]] std::string json_line(const LockEvent& event, const lock::Snapshot& snapshot);
[[nodiscard]] std::string json_error_line(const std::string& name, const std::string& why);

}  // namespace rlock::cli
