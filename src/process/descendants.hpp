// The processes that a command has become.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/clock.hpp"

namespace rlock::process {

// A process, also where another has its number later.
struct Identity {
  pid_t pid = 0;
  std::uint64_t start = 0;

  auto operator<=>(const Identity&) const = default;
};

// What tells the command's processes from others: a process belongs to it if it is in `group`, has
// `marker` in its environment, is a child of `root` that is not among `strangers`, was seen to
// belong before, or if its parent belongs. These never do:
// - `except`.
// - The watchdogs that rlock acquire leaves behind: each ends by itself with the process that it
//   follows, which need not be one of the command's.
// - A private server that is only a descendant: it serves everybody, whoever started it first.
struct Tree {
  pid_t root = 0;           // 0: none
  pid_t except = 0;         // 0: none
  pid_t group = 0;          // 0: none
  pid_t session = 0;        // of the group
  bool keeps_group = true;  // the leader is not reaped yet: no other group can have the number
  std::uint64_t since = 0;  // no process of an earlier start has the marker
  std::string marker;
  std::vector<Identity> strangers{};
  std::vector<Identity> members{};  // that were seen before, sorted
};

// Returns the children of this process, zombies included. Throws Error (unavailable) if the machine
// is short of what it takes to look, such as descriptors.
[[nodiscard]] std::vector<Identity> children_of_this_process();

// Returns whether a child of this process, other than its guardian `own` and its command, is a
// guardian whose rlock has died: an inner run was killed, and its guardian still ends what is left.
// True also as long as nobody can tell, because the machine is short of something.
[[nodiscard]] bool has_orphaned_guardian(pid_t own, pid_t command);

// Returns whether no process of `tree` lives, zombies, `root` and `except` apart. False also as
// long as nobody can tell, because the machine is short of something. Takes time in proportion to
// the number of processes on the machine.
[[nodiscard]] bool is_gone(const Tree& tree);

// Sends SIGTERM to every process of `tree` once, and SIGCONT so that a stopped one hears it. A
// command that an inner run of rlock supervises is told by that.
void terminate(const Tree& tree);

struct Killed {
  bool all = false;  // it is certain that none is left; one in the kernel may take a moment to die
  pid_t immune = 0;  // one that we may not kill: another user's
};

// Sends SIGKILL to the processes of `tree` that there are now, also to those that were born
// meanwhile.
Killed kill_now(const Tree& tree);

// Notes in `tree` which processes belong to it now: so that they are found when their origin can be
// seen no longer. Where the machine is too short of something to see all, adds those that it saw.
// Returns the processor time that such a search takes.
Nanoseconds note_members(Tree& tree);

}  // namespace rlock::process
