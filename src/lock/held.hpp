// RLOCK_HELD: which locks the processes above this one hold, so that a nested run of rlock
// re-enters its own parent's lock instead of waiting for it for ever.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock::lock {

inline constexpr const char* k_held_variable = "RLOCK_HELD";

// Entries are separated by a space: `<name, percent-encoded>=<owner>/<run>[/<run>...]`, where each
// run that holds the lock for this owner has added its own identifier.
struct HeldEntry {
  std::string owner;
  std::string runs;  // with the slashes between them
};

// Returns the entry for `name` in `held`, or nothing; entries that make no sense are skipped.
[[nodiscard]] std::optional<HeldEntry> find_held(std::string_view held, std::string_view name);

// Returns `held` with the entry for `name` set: `owner`, and `run` added to the runs if it was the
// same owner before.
[[nodiscard]] std::string with_held(std::string_view held, std::string_view name,
                                    std::string_view owner, std::string_view run);

}  // namespace rlock::lock
