// Few descriptors, or a kernel that refuses some calls: rlock works or says no, and never hangs.
#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "cli/beats.hpp"

using namespace rlock::test;

namespace {

bool is_one_message(const std::string& text) {
  return text.starts_with("rlock: ") && text.ends_with('\n') &&
         std::count(text.begin(), text.end(), '\n') == 1;
}

std::string with_descriptors(int count, const std::string& script) {
  return "ulimit -n " + std::to_string(count) + "; " + script;
}

// Runs `action` where these two system calls fail with `error`, in what it starts, too. Returns
// false where there are no such filters.
bool run_without(unsigned one, unsigned other, unsigned error,
                 const std::function<void()>& action) {
  bool is_filtered = false;
  std::thread([&] {  // a filter stays for the life of its thread
    std::array<sock_filter, 5> program = {{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},  // the call's number
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, one},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, other},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    }};
    const sock_fprog filter{program.size(), program.data()};
    is_filtered = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
    if (is_filtered) action();
  }).join();
  return is_filtered;
}

}  // namespace

TEST_CASE("exec with few descriptors runs the command and ends, or refuses before it starts it") {
  const Server server;
  const Shells shells(server);
  for (const char* names : {"job", "a b c"}) {
    for (int count = 6; count <= 16; ++count) {
      CAPTURE(names);
      CAPTURE(count);
      const Result result =
          run(shells.argv(with_descriptors(
                  count, "exec \"$RLOCK\" exec " + std::string(names) + " -- echo ran")),
              shells.options());
      CAPTURE(result.err);
      if (result.status == 0) {
        CHECK(result.out == "ran\n");
        CHECK(result.err.empty());
      } else {
        CHECK(result.status == 69);
        CHECK(result.out.empty());
        CHECK(is_one_message(result.err));
        CHECK(count < 16);
      }
      CHECK(wait_until([&] { return server.keys().empty(); }));
    }
  }
}

TEST_CASE("exec needs no system calls that only newer kernels have, or sandboxes deny") {
  const Server server;
  for (const unsigned error : {ENOSYS, EPERM}) {
    CAPTURE(error);
    const bool is_filtered = run_without(SYS_pidfd_open, SYS_pidfd_send_signal, error, [&] {
      const Result result =
          run(rlock_argv("exec", "-r", server.unix_url(), "job", "--", "echo", "ran"));
      CHECK(result.status == 0);
      CHECK(result.out == "ran\n");
      CHECK(result.err.empty());
    });
    if (!is_filtered) MESSAGE("the kernel has no filters");
    CHECK(server.keys().empty());
  }
}
