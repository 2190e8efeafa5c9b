#include "lock/inspection/leftovers.hpp"

#include <doctest/doctest.h>

#include "lock/words/key_names.hpp"

using namespace rlock::lock;

TEST_CASE("the lock that a leftover belongs to is found by its key") {
  for (const std::string name : {"job", "two words", "a:b", "{a}b", "x{y}z", "a}", "{a", "a\x1b"}) {
    CAPTURE(name);
    const KeyNames keys(name);
    CHECK(lock_of_leftover(keys.latch("0123abcd")) == name);
    CHECK(lock_of_leftover(keys.info) == name);
  }
  CHECK(lock_of_leftover(KeyNames("{a}").info) == "{a}");
}

TEST_CASE("a leftover without a name is told as it is") {
  CHECK(lock_of_leftover("redisson_unlock_latch:") == "");
  CHECK(lock_of_leftover(KeyNames("{}").info) == "{}");
  CHECK(lock_of_leftover(KeyNames("{}").latch("1")) == "{}");
}

TEST_CASE("latches are told from side keys") {
  const KeyNames keys("job");
  CHECK(latches_of({keys.info, keys.latch("1")}) == std::vector<std::string>{keys.latch("1")});
}
