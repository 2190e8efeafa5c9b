#include "cli/taking/shell_export.hpp"

#include "base/environment.hpp"
#include "base/escape.hpp"
#include "base/shell_quote.hpp"
#include "cli/taking/own_hold.hpp"
#include "lock/make_lock.hpp"
#include "lock/words/held.hpp"
#include "lock/words/kind.hpp"

namespace rlock::cli {
namespace {

// In fish, eval joins the lines of a substitution with spaces. So each statement ends with a
// semicolon.
std::string assignment(const std::string& name, const std::string& value, Shell shell) {
  if (shell == Shell::fish) return "set -gx " + name + " " + fish_quote(value) + ";\n";
  return "export " + name + "=" + posix_quote(value) + "\n";
}

// Returns whether RLOCK_HELD has room for one more hold, of a new owner or of its present owner.
bool has_room(const std::string& held, const lock::Wish& wish) {
  using lock::Hold;
  const std::string longest = lock::run_of({.id = std::string(lock::k_hold_digits, '0'),
                                            .standing = Hold::Standing::reentered,
                                            .side = Hold::Side::write});
  const auto fits = [&](const std::string& owner) {
    return lock::with_held(held, wish.name, owner, longest).size() <= lock::k_longest_held;
  };
  const auto entry = lock::find_held(held, wish.name);
  return fits(wish.owner) && (!entry || fits(entry->owner));
}

}  // namespace

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
  throw Error(ExitStatus::usage,
              escape_for_terminal(wish.name) +
                  ": RLOCK_HELD has no room for one hold more: give others back before");
}

std::string export_code(const HeldLock& one, const std::string& others, Shell shell) {
  const auto& [lock, hold] = one;
  const std::string& name = lock->name();
  const std::string held = lock::with_held(others, name, hold.owner, lock::run_of(hold));
  std::string code = assignment("RLOCK_NAME", name, shell) +
                     assignment("RLOCK_OWNER", hold.owner, shell) +
                     assignment("RLOCK_KIND", lock::kind_name(lock->kind()), shell) +
                     assignment(lock::k_held_variable, held, shell);
  const bool is_same = hold.standing != lock::Hold::Standing::granted &&
                       from_environment("RLOCK_NAME") == name &&
                       from_environment("RLOCK_OWNER") == hold.owner;
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
