// The processes of a command: the command and its descendants.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/clock.hpp"

namespace rlock::process {

// Identifies a process, even if another process gets its number later.
struct Identity {
  pid_t pid = 0;
  std::uint64_t start = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a null pointer in every <=>
  auto operator<=>(const Identity&) const = default;
};

// How to recognize the processes of a command. A process belongs to the command if it is in
// `group`, has `marker` in its environment, is a child of `root` that is not in
// `preexisting_children`, is in `members`, or if its parent belongs to the command. A process that
// started before the command does not belong to it. rlock may get such a child, because it adopts
// the children of its children. These processes never belong to the command:
// - `except`.
// - The background watchdogs of rlock acquire. Each ends by itself with the process that it
// follows,
//   which need not belong to the command.
// - A private server of `local:` that is only a descendant. It serves all programs of the user.
struct CommandProcesses {
  pid_t root = 0;           // 0: none
  pid_t except = 0;         // 0: none
  pid_t group = 0;          // 0: none
  pid_t session = 0;        // of the group
  bool keeps_group = true;  // the leader is not reaped yet, so no other group can have the number
  std::uint64_t since = 0;  // the start of the group's leader, or 0: not known yet
  std::string marker;
  std::vector<Identity> preexisting_children{};
  std::vector<Identity> members{};  // processes that belonged to the command before, sorted
};

// Returns the children of this process, including zombies. Throws Error (unavailable) if the
// machine lacks what the search needs, such as descriptors.
[[nodiscard]] std::vector<Identity> children_of_this_process();

// Looks for children of this process, other than its guardian `own` and its command, that are
// guardians whose rlock has died. Such an inner run was killed, and its guardian still ends the
// inner command. Continues those that are stopped. `unknown`: the machine lacks what the search
// needs. `stuck`: one was stopped.
enum class Orphans { none, at_work, stuck, unknown };
[[nodiscard]] Orphans find_orphaned_guardians(pid_t own, pid_t command);

// Returns whether no process of `tree` lives, apart from zombies, `root` and `except`. Also returns
// false while the machine lacks what the search needs. Takes time in proportion to the number of
// processes on the machine.
[[nodiscard]] bool is_gone(const CommandProcesses& tree);

// Sends SIGTERM to every process of `tree` once, and SIGCONT so that a stopped process gets it. The
// command of an inner run of rlock gets the signals from that run.
void terminate(const CommandProcesses& tree);

struct Killed {
  bool all = false;      // certainly no process is left. One in the kernel may take a moment to die
  bool any = false;      // a process was there
  pid_t unkillable = 0;  // a process of another user that rlock is not allowed to kill, or 0
};

// Sends SIGKILL to all processes of `tree`, including those that start while it searches.
Killed kill_now(const CommandProcesses& tree);

// Adds the processes that belong to `tree` now to its members. So they are found even when their
// origin cannot be seen any more. If the machine lacks what the search needs, adds the processes
// that it found. Returns the processor time that such a search takes.
Nanoseconds note_members(CommandProcesses& tree);

}  // namespace rlock::process
