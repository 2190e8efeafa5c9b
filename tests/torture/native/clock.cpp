// Loaded into a server (LD_PRELOAD): its clock is that of the host plus as many milliseconds as the
// file $TORTURE_CLOCK says. libfaketime does not bear the allocator that Debian's redis-server has.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

extern "C" int gettimeofday(timeval* now, void*) noexcept {
  timespec time{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &time);
  char text[32] = {};
  static const char* const file = getenv("TORTURE_CLOCK");
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, text, sizeof text - 1) < 0) abort();
  close(fd);
  const long long us = (time.tv_sec * 1000LL + atoll(text)) * 1000 + time.tv_nsec / 1000;
  now->tv_sec = us / 1000000;
  now->tv_usec = us % 1000000;
  return 0;
}
