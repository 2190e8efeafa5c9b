#include <doctest/doctest.h>

#include "base/error.hpp"
#include "lock/key_names.hpp"

using namespace rlock;
using namespace rlock::lock;

TEST_CASE("a name without braces is wrapped in them, so that all keys share a slot") {
  const KeyNames keys("nightly");
  CHECK(keys.lock == "nightly");
  CHECK(keys.channel == "redisson_lock__channel:{nightly}");
  CHECK(keys.queue == "redisson_lock_queue:{nightly}");
  CHECK(keys.timeout == "redisson_lock_timeout:{nightly}");
  CHECK(keys.token == "redisson_lock_token:{nightly}");
  CHECK(keys.info == "rlock_info:{nightly}");
  CHECK(keys.latch("id") == "redisson_unlock_latch:{nightly}:id");
  CHECK(keys.read_write_channel == "redisson_rwlock:{nightly}");
  CHECK(keys.reader_prefix == "{nightly}:");
}

TEST_CASE("a name with a brace is left as it is: Redisson's rule") {
  const KeyNames keys("{tenant}:nightly");
  CHECK(keys.lock == "{tenant}:nightly");
  CHECK(keys.channel == "redisson_lock__channel:{tenant}:nightly");
  CHECK(keys.queue == "redisson_lock_queue:{tenant}:nightly");
  CHECK(keys.latch("id") == "redisson_unlock_latch:{tenant}:nightly:id");
  CHECK(keys.read_write_channel == "redisson_rwlock:{tenant}:nightly");
  CHECK(keys.reader_prefix == "{tenant}:nightly:");
  CHECK(KeyNames("a{b").channel == "redisson_lock__channel:a{b");
  CHECK(KeyNames("a{}b").channel == "redisson_lock__channel:a{}b");
  CHECK(KeyNames("a}b").channel == "redisson_lock__channel:{a}b}");
}

TEST_CASE("a name has 1 to 1024 bytes, and any bytes") {
  CHECK_NOTHROW(check_name("x"));
  CHECK_NOTHROW(check_name(std::string(1024, 'x')));
  CHECK_NOTHROW(check_name(std::string_view("\0\xff\n", 3)));
  for (const std::string& name : {std::string(), std::string(1025, 'x')}) {
    try {
      check_name(name);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.status() == ExitStatus::usage);
      CHECK(std::string(error.what()).find("1 to 1024") != std::string::npos);
    }
  }
}
