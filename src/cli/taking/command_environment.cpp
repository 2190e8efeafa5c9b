#include "cli/taking/command_environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unistd.h>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "lock/words/held.hpp"
#include "lock/words/kind.hpp"

namespace rlock::cli {
namespace {

constexpr std::array<std::string_view, 5> k_ours = {
    "RLOCK_NAME=", "RLOCK_OWNER=", "RLOCK_KIND=", "RLOCK_HELD=", "RLOCK_TOKEN="};

bool is_ours(std::string_view entry) {
  return std::ranges::any_of(k_ours,
                             [&](std::string_view name) { return entry.starts_with(name); });
}

}  // namespace

void check_room(const std::vector<std::string>& names, const std::string& owner,
                const std::string& run) {
  std::size_t size = 0;
  for (const std::string& name : names) size += lock::with_held("", name, owner, run).size() + 1;
  if (size > lock::k_longest_held) {
    throw Error(ExitStatus::usage, "exec: the names are too long for RLOCK_HELD: it would have " +
                                       std::to_string(size) + " bytes; expected " +
                                       std::to_string(lock::k_longest_held) + " at the most");
  }
}

std::vector<std::string> make_environment(const HeldLocks& locks, const std::string& run) {
  std::vector<std::string> result;
  for (char** place = ::environ; *place != nullptr; ++place) {
    if (!is_ours(*place)) result.emplace_back(*place);
  }
  std::string held = from_environment(lock::k_held_variable).value_or("");
  std::string names;
  std::string owner;
  std::string kind;
  std::string tokens;
  bool are_reentered = true;
  locks.for_each([&](const HeldLock& one) {
    const auto& [lock, hold] = one;
    names += (names.empty() ? "" : "\n") + lock->name();
    if (owner.empty()) owner = hold.owner;
    kind = lock::kind_name(lock->kind());
    held = lock::with_held(held, lock->name(), hold.owner, run);
    are_reentered = are_reentered && hold.standing != lock::Hold::Standing::granted;
    if (!hold.token) return;
    tokens += (tokens.empty() ? "" : "\n") + std::to_string(*hold.token);
  });
  result.push_back("RLOCK_NAME=" + names);
  result.push_back("RLOCK_OWNER=" + owner);
  result.push_back("RLOCK_KIND=" + kind);
  result.push_back("RLOCK_HELD=" + held);
  const bool is_same = are_reentered && from_environment("RLOCK_NAME") == names &&
                       from_environment("RLOCK_OWNER") == owner;
  // A run above us may have drawn one for this very hold.
  if (is_same && tokens.empty()) tokens = from_environment("RLOCK_TOKEN").value_or("");
  if (!tokens.empty()) result.push_back("RLOCK_TOKEN=" + tokens);
  return result;
}

}  // namespace rlock::cli
