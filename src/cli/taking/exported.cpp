#include "cli/taking/exported.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unistd.h>

#include "base/environment.hpp"
#include "base/escape.hpp"
#include "base/shell_quote.hpp"
#include "cli/taking/own_hold.hpp"
#include "lock/make_lock.hpp"
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

// Returns whether this process's environment tells of the same hold already.
bool is_told(const std::string& name, const std::string& owner) {
  return from_environment("RLOCK_NAME") == name && from_environment("RLOCK_OWNER") == owner;
}

// In fish, eval joins the lines of a substitution with spaces: each statement needs a semicolon.
std::string assignment(const std::string& name, const std::string& value, Shell shell) {
  if (shell == Shell::fish) return "set -gx " + name + " " + fish_quote(value) + ";\n";
  return "export " + name + "=" + posix_quote(value) + "\n";
}

// Returns whether RLOCK_HELD has room for one more hold, of a new owner or of its present owner.
bool has_room(const std::string& held, const lock::Wish& wish) {
  using lock::Hold;
  const std::string longest = lock::run_of({.id = std::string(lock::k_hold_digits, '0'),
                                            .standing = Hold::Standing::reentered,
                                            .side = lock::Side::write});
  const auto fits = [&](const std::string& owner) {
    return lock::with_held(held, wish.name, owner, longest).size() <= lock::k_longest_held;
  };
  const auto entry = lock::find_held(held, wish.name);
  return fits(wish.owner) && (!entry || fits(entry->owner));
}

}  // namespace

void check_room(const std::vector<std::string>& names, const lock::Wish& wish,
                const std::string& run) {
  std::map<std::string, std::string> owners;  // as whom a lock may be re-entered
  const std::string held =
      lock::with_runs(from_environment(lock::k_held_variable).value_or(""),
                      [&](const std::string& name, const lock::HeldEntry& entry) {
                        owners[name] = entry.owner;
                        return entry.runs;
                      });
  std::size_t size = held.size();
  for (const std::string& name : names) {
    const std::size_t whole = lock::with_held("", name, wish.owner, run).size() + 1;
    const auto found = owners.find(name);
    if (found == owners.end()) {
      size += whole;
      continue;
    }
    // It gets one run more, or another owner with one run.
    const std::size_t before = lock::with_held("", name, found->second, "").size();
    size += std::max(run.size() + 1, whole - std::min(whole, before));
  }
  if (size > lock::k_longest_held) {
    throw Error(ExitStatus::usage,
                "exec: the names, with those of outer runs, are too long for RLOCK_HELD: it could "
                "get " +
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
    kind = lock::traits_of(lock->kind()).name;
    held = lock::with_held(held, lock->name(), hold.owner, run);
    // check_room has counted one entry for each name.
    if (held.size() > lock::k_longest_held) held = lock::innermost_of(held);
    are_reentered = are_reentered && hold.standing != lock::Hold::Standing::granted;
    if (!hold.token) return;
    tokens += (tokens.empty() ? "" : "\n") + std::to_string(*hold.token);
  });
  result.push_back("RLOCK_NAME=" + names);
  result.push_back("RLOCK_OWNER=" + owner);
  result.push_back("RLOCK_KIND=" + kind);
  result.push_back("RLOCK_HELD=" + held);
  // A run above us may have drawn one for this very hold.
  if (are_reentered && tokens.empty() && is_told(names, owner)) {
    tokens = from_environment("RLOCK_TOKEN").value_or("");
  }
  if (!tokens.empty()) result.push_back("RLOCK_TOKEN=" + tokens);
  return result;
}

std::string held_to_export(const lock::Wish& wish, lock::Session& session) {
  std::string held = from_environment(lock::k_held_variable).value_or("");
  held = lock::with_runs(held, [&](const std::string& name, const lock::HeldEntry& entry) {
    return name == wish.name ? living_runs(name, entry, session) : entry.runs;
  });
  if (has_room(held, wish)) return held;
  held = lock::with_runs(held, [&](const std::string& name, const lock::HeldEntry& entry) {
    lock::Wish other{name, entry.owner, {}};
    other.kind = lock::held_kind(session, name, entry.owner);
    const bool is_held = lock::make_lock(other, session)->ask(session) == lock::Renewal::renewed;
    return is_held ? living_runs(name, entry, session) : "";
  });
  if (has_room(held, wish)) return held;
  throw Error(ExitStatus::usage, escape_for_terminal(wish.name) +
                                     ": too many nested holds for RLOCK_HELD: release some first");
}

std::string export_code(const HeldLock& one, const std::string& others, Shell shell) {
  const auto& [lock, hold] = one;
  const std::string& name = lock->name();
  const std::string held = lock::with_held(others, name, hold.owner, lock::run_of(hold));
  std::string code = assignment("RLOCK_NAME", name, shell) +
                     assignment("RLOCK_OWNER", hold.owner, shell) +
                     assignment("RLOCK_KIND", lock::traits_of(lock->kind()).name, shell) +
                     assignment(lock::k_held_variable, held, shell);
  const bool is_same = hold.standing != lock::Hold::Standing::granted && is_told(name, hold.owner);
  if (hold.token) {
    code += assignment("RLOCK_TOKEN", std::to_string(*hold.token), shell);
  } else if (!is_same) {
    // It was another lock's. In fish it is a failure that there was none.
    code += shell == Shell::fish ? "set -eg RLOCK_TOKEN; true;\n" : "unset RLOCK_TOKEN\n";
  }
  return code;
}

std::string failure_code(int status, Shell shell) {
  const std::string end = "exit " + std::to_string(status);
  return shell == Shell::fish ? "sh -c '" + end + "';\n" : "(" + end + ")\n";
}

}  // namespace rlock::cli
