#include "process/descendants.hpp"

#include <ctime>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace rlock;

namespace {

Nanoseconds used_by_this_thread() {
  timespec ts{};
  REQUIRE(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) == 0);
  return std::chrono::seconds(ts.tv_sec) + Nanoseconds(ts.tv_nsec);
}

}  // namespace

TEST_CASE("a search for processes tells the processor time that it took") {
  process::CommandProcesses tree;
  tree.root = ::getpid();
  const Nanoseconds before = used_by_this_thread();
  const Nanoseconds taken = process::note_members(tree);
  const Nanoseconds after = used_by_this_thread();
  CHECK(taken > Nanoseconds(0));
  CHECK(taken <= after - before);
}
