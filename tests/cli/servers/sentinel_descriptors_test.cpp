// Sentinel: what a holder does who has no descriptor left to ask with.
// Labels: unsanitized
#include <filesystem>
#include <string>
#include <sys/resource.h>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/servers/sentinel_fixture.hpp"

using namespace rlock::test;

namespace {

// From now on a process can have one more descriptor, too few to ask anybody.
void leave_one_descriptor(pid_t pid) {
  rlim_t lowest = 0;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd/";
  while (std::filesystem::exists(std::filesystem::symlink_status(folder + std::to_string(lowest))))
    ++lowest;
  const rlimit limit{lowest + 1, lowest + 1};
  REQUIRE(::prlimit(pid, RLIMIT_NOFILE, &limit, nullptr) == 0);
}

}  // namespace

TEST_CASE("sentinel: who cannot ask them for want of descriptors does not renew forever") {
  Stubborn split;
  Process holder(cat(split.url, "job", "9s"), {.hold_stdin = true});
  holder.wait_for_stdout("got");
  wait_for_renewal(split.old);  // its watchdog is at work
  leave_one_descriptor(holder.pid());
  split.fail_over();
  CHECK(wait_until([&] { return !holder.running(); }));
  holder.close_stdin();
  const Result result = holder.wait();
  CAPTURE(result.err);
  CHECK(result.status == 79);
}
