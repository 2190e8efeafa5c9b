// Commands that have few descriptors, or that the kernel refuses some calls.
#pragma once

#include <array>
#include <future>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"

namespace rlock::test::limits {

inline std::string with_descriptors(int count, const std::string& script) {
  return "ulimit -S -n " + std::to_string(count) + "; " + script;
}

// Runs `argv` where these two system calls fail with `error`. Returns nothing where there are no
// such filters.
inline std::optional<Result> run_without(unsigned one, unsigned other, unsigned error,
                                         const std::vector<std::string>& argv) {
  const auto in_thread = [&]() -> std::optional<Result> {  // a filter stays for its life
    std::array<sock_filter, 5> program = {{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},  // the call's number
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, one},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, other},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    }};
    const sock_fprog filter{program.size(), program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
      MESSAGE("the kernel has no filters of system calls");
      return std::nullopt;
    }
    return run(argv);
  };
  return std::async(std::launch::async, in_thread).get();
}

}  // namespace rlock::test::limits
