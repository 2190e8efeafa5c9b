// Measures two commands against each other: runs A B, B A, A B, ... and writes one line a pair to
// the report, "wallA cpuA memoryA faultsA wallB cpuB memoryB faultsB", in nanoseconds,
// microseconds, KiB and page faults.
//
//   pairs REPORT PAIRS SEPARATOR A... SEPARATOR B...
//
// Wall time is from before the spawn until the process has been reaped. The rest is of wait4: the
// process and all children that it waited for; memory is the largest single process. A spawned
// child starts in our memory, so ours is kept smaller than that of any program: static, and without
// iostreams.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <initializer_list>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int k_warm_up_pairs = 3;

struct Cost {
  long long wall_ns;
  long long cpu_us;
  long memory_kib;
  long page_faults;
};

long long now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

long long microseconds(const timeval& time) { return time.tv_sec * 1'000'000LL + time.tv_usec; }

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "pairs: %s: %s\n", what, why);
  std::exit(1);
}

Cost run(char** argv) {
  const long long start = now_ns();
  pid_t child = 0;
  if (const int error = ::posix_spawnp(&child, argv[0], nullptr, nullptr, argv, environ)) {
    fail(argv[0], std::strerror(error));
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  const long long end = now_ns();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail(argv[0], "did not end with status 0");
  return {end - start, microseconds(usage.ru_utime) + microseconds(usage.ru_stime), usage.ru_maxrss,
          usage.ru_minflt + usage.ru_majflt};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) fail("usage", "pairs REPORT PAIRS SEPARATOR A... SEPARATOR B...");
  const int report = ::open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (report < 0) fail(argv[1], std::strerror(errno));
  const int pairs = std::atoi(argv[2]);
  char** a = argv + 4;
  char** b = a;
  while (*b != nullptr && std::strcmp(*b, argv[3]) != 0) ++b;
  if (*b == nullptr) fail("usage", "the second separator is missing");
  *b++ = nullptr;

  for (int pair = -k_warm_up_pairs; pair < pairs; ++pair) {
    const bool a_first = pair % 2 == 0;
    const Cost first = run(a_first ? a : b);
    const Cost second = run(a_first ? b : a);
    if (pair < 0) continue;
    for (const Cost& cost : {a_first ? first : second, a_first ? second : first}) {
      ::dprintf(report, "%lld %lld %ld %ld ", cost.wall_ns, cost.cpu_us, cost.memory_kib,
                cost.page_faults);
    }
    ::dprintf(report, "\n");
  }
  return 0;
}
