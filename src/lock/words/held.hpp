// RLOCK_HELD: which locks the processes above this one hold, so that a nested run of rlock
// re-enters its own parent's lock instead of waiting for it for ever.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace rlock::lock {

inline constexpr const char* k_held_variable = "RLOCK_HELD";
// The kernel starts no program with a variable of 128 KiB: what is left is enough for one entry
// more.
inline constexpr std::size_t k_longest_held = 120'000;

// Entries are separated by a space: `<name>=<owner>/<run>[/<run>...]`, name and owner
// percent-encoded, where each run that holds the lock for this owner has added its own identifier.
// Anybody may have changed the variable: an entry that cannot be ours is none, and of more than
// 120,000 bytes nothing counts.
struct HeldEntry {
  std::string owner;
  std::string runs;  // with the slashes between them
};

// Returns the entry for `name` in `held`, or nothing.
[[nodiscard]] std::optional<HeldEntry> find_held(std::string_view held, std::string_view name);

// Returns the entries of `held` with that for `name` set: `owner`, and `run` (letters and digits)
// added to the runs if it was the same owner before.
[[nodiscard]] std::string with_held(std::string_view held, std::string_view name,
                                    std::string_view owner, std::string_view run);

// Returns the entries of `held`, each with the runs that `runs_of` returns for it, and without
// those for which it returns none.
using RunsOf = std::function<std::string(const std::string& name, const HeldEntry& entry)>;
[[nodiscard]] std::string with_runs(std::string_view held, const RunsOf& runs_of);

}  // namespace rlock::lock
