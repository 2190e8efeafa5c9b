#include "lock/words/wrong_kind.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace rlock;

namespace {

std::string told_of(const std::string& found) {
  const Error error = lock::in_use("a\nb", found);
  CHECK(error.status() == ExitStatus::wrong_kind);
  return error.what();
}

}  // namespace

TEST_CASE("a name that is in use is told with the option that takes it") {
  CHECK(told_of("plain or fair lock") ==
        "a\\nb: in use as a plain or fair lock: leave out -s or -x, which take a read/write lock");
  CHECK(told_of("read-write lock") == "a\\nb: in use as a read/write lock: take it with -s or -x");
  CHECK(told_of("string") ==
        "a\\nb: a string, not a lock of this kind: if it is a lock, take it with --kind simple; if "
        "it is a semaphore, with --permits");
  CHECK(
      told_of("number") ==
      "a\\nb: a string, not a lock of this kind: a number with an expiry: if it is a lock, take it "
      "with --kind simple; if it is a semaphore that has lost its other keys, delete it when no "
      "run has a permit");
  CHECK(told_of("list") == "a\\nb: a list, not a lock");
  CHECK(told_of("hash") == "a\\nb: a hash: a lock of another kind, or no lock");
  CHECK(told_of("hash that is no lock") == "a\\nb: a hash that is not a lock");
  CHECK(told_of("zset in place of its queue") ==
        "a\\nb: the name is in use by another kind of lock (zset in place of its queue)");
}

TEST_CASE("what is not a lock, or not a counter, is told as what it is") {
  CHECK(std::string(lock::not_a_lock("job", "string").what()) ==
        "job: the name is in use by something else (string)");
  CHECK(std::string(lock::no_counter("job", "it is\na list").what()) ==
        "job: no fencing token from redisson_lock_token:{job}: it is\\na list");
}
