// The command that runs under a lock when a handover is measured: writes the time (CLOCK_MONOTONIC,
// nanoseconds) to stdout. With an argument it first waits for the end of its stdin.

#include <cstdio>
#include <ctime>
#include <unistd.h>

int main(int argc, char**) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  if (argc > 1) {
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    ::clock_gettime(CLOCK_MONOTONIC, &now);
  }
  ::dprintf(STDOUT_FILENO, "%lld\n", now.tv_sec * 1'000'000'000LL + now.tv_nsec);
  return 0;
}
