// The exit statuses of rlock: a published contract (rlock(1), EXIT STATUS).
#pragma once

namespace rlock {

enum class ExitStatus : int {
  ok = 0,
  not_held = 1,       // unlock, renew: the owner does not hold the lock; evict: it does not wait
  problems = 1,       // doctor: there are problems
  stale = 1,          // fence: a higher token was granted
  usage = 64,         // the command line is wrong
  unavailable = 69,   // the server cannot serve now
  internal = 70,      // a bug
  not_acquired = 75,  // another owner held the lock during the whole wait
  wrong_kind = 76,    // the name is another kind of lock, or the server's answer makes no sense
  permission = 77,    // authentication or permission
  config = 78,        // the configuration is wrong
  lost = 79,          // the lock was lost while the command ran
  timed_out = 124,    // --at-most passed; watch: --for, before --until
  not_executable = 126,
  not_found = 127,
  signal_base = 128,  // plus the signal's number
};

}  // namespace rlock
