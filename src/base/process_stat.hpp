// What /proc/PID/stat says about a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace rlock {

struct ProcessStat {
  pid_t pid = 0;
  std::string name;  // of the program, cut by the kernel. A process may change it
  char state = 0;    // R, S, D, T, Z ...
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t flags = 0;
  std::int64_t threads = 0;
  std::uint64_t start = 0;  // in ticks since the boot: tells processes with the same number apart

  // A process whose first thread has ended is in state Z, although its other threads work on.
  [[nodiscard]] bool is_dead() const noexcept {
    return state == 'X' || (state == 'Z' && threads <= 1);
  }
  // Returns whether the process has not run another program since it was forked.
  [[nodiscard]] bool has_only_forked() const noexcept { return (flags & 0x40) != 0; }
};

// Parses a line of /proc/PID/stat. Returns nothing if `line` is not such a line.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view line);

// Reads the line of a process. Returns nothing if there is no such process, or if it is hidden from
// this process. `proc`, if given, is an open descriptor of /proc. It makes many calls cheaper.
[[nodiscard]] std::optional<ProcessStat> read_process_stat(pid_t pid, int proc = -1);

}  // namespace rlock
