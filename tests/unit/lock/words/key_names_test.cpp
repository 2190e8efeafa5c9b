#include "lock/words/key_names.hpp"

#include <string>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/words.hpp"

using namespace rlock;
using namespace rlock::lock;
using test::has;

namespace {

std::string refusal_of(const std::string& name) {
  try {
    check_name(name);
  } catch (const Error& refused) {
    CHECK(refused.status() == ExitStatus::usage);
    return refused.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a name without braces is wrapped in them, so that all keys share a slot") {
  const KeyNames keys("nightly");
  CHECK(keys.lock == "nightly");
  CHECK(keys.channel == "redisson_lock__channel:{nightly}");
  CHECK(keys.queue == "redisson_lock_queue:{nightly}");
  CHECK(keys.scores == "redisson_lock_timeout:{nightly}");
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
  CHECK(keys.info == "rlock_info:{tenant}:nightly");
}

TEST_CASE("a name has 1 to 1024 bytes, and any bytes") {
  CHECK_NOTHROW(check_name("x"));
  CHECK_NOTHROW(check_name(std::string(1024, 'x')));
  CHECK_NOTHROW(check_name(std::string_view("\0\xff\n", 3)));
  for (const std::string& name : {std::string(), std::string(1025, 'x')}) {
    CHECK(refusal_of(name) ==
          "bad lock name: it has " + std::to_string(name.size()) + " bytes; expected 1 to 1024");
  }
}

TEST_CASE("of a name and the same in braces, each knows the other, and has a side key of its own") {
  CHECK(brace_alias("a") == "{a}");
  CHECK(brace_alias("{a}") == "a");
  CHECK(brace_alias("a}b") == "{a}b}");
  CHECK(brace_alias("{a}b}") == "a}b");
  for (const char* name : {"{a}b", "a{b}", "{}", "{", "{a{b}", "{a}{b}"}) {
    CAPTURE(name);
    CHECK_FALSE(brace_alias(name).has_value());
  }
  CHECK(KeyNames("a").info == "rlock_info:{a}");
  CHECK(KeyNames("{a}").info == "rlock_info_braced:{a}");
  CHECK(KeyNames("{a}").queue == KeyNames("a").queue);
}

TEST_CASE("a name that could be a key of another lock is refused, and no other") {
  const KeyNames keys("job");
  for (const std::string& key : std::vector<std::string>{
           keys.channel, keys.read_write_channel, keys.semaphore_channel, keys.queue, keys.scores,
           keys.token, keys.info, KeyNames("{job}").info, keys.latch("id"),
           keys.reader_prefix + "uuid:1:rwlock_timeout:12", "{a}b:o:1:rwlock_timeout:1"}) {
    CAPTURE(key);
    const std::string text = refusal_of(key);
    CHECK(text.starts_with("bad lock name: '" + key + "' "));
    CHECK(has(text, "' is the key of another lock's reader; ") == has(key, ":rwlock_timeout:"));
    CHECK(text.ends_with("; choose another name"));
  }
  CHECK(refusal_of("rlock_info:\n") ==
        "bad lock name: 'rlock_info:\\n' begins with 'rlock_info:', as the keys of other locks do; "
        "choose another name");
  for (const char* name : {"redisson", "rlock_information", "redisson_lock", "my:rlock_info:{a}",
                           "job:rwlock_timeout:1", "{a}:rwlock_timeout:", "{job}:timeout"}) {
    CAPTURE(name);
    CHECK_NOTHROW(check_name(name));
  }
}
