#include "cli/command_environment.hpp"

#include <string_view>
#include <unistd.h>

#include "lock/held.hpp"

namespace rlock::cli {

std::vector<std::string> make_environment(const HeldLocks& locks, const std::string& run) {
  std::vector<std::string> result;
  const auto is_ours = [](std::string_view entry) {
    for (const char* name : {"RLOCK_NAME=", "RLOCK_OWNER=", "RLOCK_KIND=", "RLOCK_HELD="}) {
      if (entry.starts_with(name)) return true;
    }
    return false;
  };
  std::string held;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("RLOCK_HELD=")) held = *entry + sizeof "RLOCK_HELD";
    if (!is_ours(*entry)) result.emplace_back(*entry);
  }
  std::string names;
  std::string owner;
  std::string kind;
  locks.for_each([&](const lock::ReentrantLock& lock) {
    names += (names.empty() ? "" : "\n") + lock.name();
    if (owner.empty()) owner = lock.owner();
    kind = lock::kind_name(lock.kind());
    held = lock::with_held(held, lock.name(), lock.owner(), run);
  });
  result.push_back("RLOCK_NAME=" + names);
  result.push_back("RLOCK_OWNER=" + owner);
  result.push_back("RLOCK_KIND=" + kind);
  result.push_back("RLOCK_HELD=" + held);
  return result;
}

}  // namespace rlock::cli
