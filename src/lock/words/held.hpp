// RLOCK_HELD: which locks the processes above this one hold, so that a nested run of rlock
// re-enters its own parent's lock instead of waiting for it forever.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlock::lock {

inline constexpr const char* k_held_variable = "RLOCK_HELD";
// The kernel starts no program with a variable of 128 KiB: what is left is enough for one entry
// more.
inline constexpr std::size_t k_longest_held = 120'000;

// A run of exec is named by this many random bytes, in hexadecimal.
inline constexpr std::size_t k_run_id_bytes = 8;

// Entries are separated by a space: `<name>=<owner>/<run>[/<run>...]`, name and owner
// percent-encoded, where each run that holds the lock for this owner has added its own identifier.
// A name has several entries, the innermost first, if the runs hold it on several servers.
// Anybody may have changed the variable: an entry that cannot be ours is none, and of more than
// 120,000 bytes nothing counts.
struct HeldEntry {
  std::string owner;
  std::string runs;  // with the slashes between them
};

// Returns the innermost entry for `name` in `held`, or nothing.
[[nodiscard]] std::optional<HeldEntry> find_held(std::string_view held, std::string_view name);
// Returns the entries for `name` in `held`, the innermost first, 4 at the most.
[[nodiscard]] std::vector<HeldEntry> find_all_held(std::string_view held, std::string_view name);

// Returns the entries of `held` with that for `name` set: `owner`, and `run` (letters and digits)
// added to the runs if it was the same owner before. An entry of another owner stays after it if a
// run of exec is in it: a run around this one may hold the lock of this name on another server. A
// shell's own entry does not stay, because a shell can take a lock any number of times.
[[nodiscard]] std::string with_held(std::string_view held, std::string_view name,
                                    std::string_view owner, std::string_view run);

// Returns `held` with the innermost entry of each name alone.
[[nodiscard]] std::string innermost_of(std::string_view held);

// Returns the entries of `held`, each with the runs that `runs_of` returns for it, and without
// those for which it returns none.
using RunsOf = std::function<std::string(const std::string& name, const HeldEntry& entry)>;
[[nodiscard]] std::string with_runs(std::string_view held, const RunsOf& runs_of);

}  // namespace rlock::lock
