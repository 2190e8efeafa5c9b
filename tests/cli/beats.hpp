// Commands that show that they live, on a clock that the tests share with them.
#pragma once

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "support/server.hpp"
#include "support/wait_until.hpp"

namespace rlock::test {

// Returns the seconds since the machine started, in steps of 10 ms.
inline double uptime() {
  double seconds = 0;
  std::ifstream("/proc/uptime") >> seconds;
  return seconds;
}

// Waits until the lock "job" has been renewed.
inline void wait_for_renewal(const Server& server) {
  long before = pttl(server);
  REQUIRE(wait_until([&] {
    const long now = pttl(server);
    const bool grew = now > before;
    before = now;
    return grew;
  }));
}

// Writes a shell script `NAME [deaf]` into the server's directory, which adds lines with its name
// and the uptime to the file $LOG as often as it can, and with `deaf` does not hear SIGTERM.
// Returns its path.
inline std::string write_beat_script(const Server& server) {
  const std::string path = server.directory() + "/beat.sh";
  std::ofstream(path) << "[ \"$2\" = deaf ] && trap '' TERM\n"
                         "while :; do\n"
                         "  read -r now rest </proc/uptime\n"
                         "  echo \"$1 $now\" >>\"$LOG\"\n"
                         "  sleep 0.02\n"
                         "done\n";
  return path;
}

}  // namespace rlock::test
