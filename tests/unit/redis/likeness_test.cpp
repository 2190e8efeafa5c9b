// Which URLs name one server.
#include "redis/likeness.hpp"

#include <string>

#include <doctest/doctest.h>

using rlock::redis::Likeness;

namespace {

Likeness likeness(const std::string& one, const std::string& other) {
  const auto compare = [](const std::string& first, const std::string& second) {
    return rlock::redis::compare(rlock::redis::parse_url(first), rlock::redis::parse_url(second));
  };
  CHECK(compare(one, other) == compare(other, one));
  return compare(one, other);
}

}  // namespace

TEST_CASE("likeness: however an address or a name is written, it is the same") {
  CHECK(likeness("redis://127.0.0.1", "redis://127.1:6379/3") == Likeness::same);
  CHECK(likeness("redis://10.0.0.1", "rediss://[::ffff:10.0.0.1]") == Likeness::same);
  CHECK(likeness("redis://[::1]", "redis://[0:0:0:0:0:0:0:1]") == Likeness::same);
  CHECK(likeness("redis://Node-1.example", "redis://node-1.example.") == Likeness::same);
  CHECK(likeness("unix:///no/a.sock", "unix:///no/a.sock") == Likeness::same);
}

TEST_CASE("likeness: what is on this machine may be one, unless the ports differ") {
  CHECK(likeness("redis://127.0.0.1", "redis://localhost") == Likeness::possible);
  CHECK(likeness("redis://127.0.0.1", "redis://[::1]") == Likeness::possible);
  CHECK(likeness("redis://127.0.0.1", "redis://127.0.0.2") == Likeness::possible);
  CHECK(likeness("redis://localhost:7001", "unix:///run/redis.sock") == Likeness::possible);
  CHECK(likeness("redis://127.0.0.1:1", "redis://127.0.0.1:2") == Likeness::different);
  CHECK(likeness("unix:///no/a.sock", "unix:///no/b.sock") == Likeness::different);
}

TEST_CASE("likeness: other machines are different, but for one that speaks TLS, too") {
  CHECK(likeness("redis://10.0.0.1", "redis://10.0.0.2") == Likeness::different);
  CHECK(likeness("redis://node-1", "redis://node-2") == Likeness::different);
  CHECK(likeness("redis://node-1:1", "redis://node-1:2") == Likeness::different);
  CHECK(likeness("redis://node-1:1", "rediss://node-1:2") == Likeness::possible);
  CHECK(likeness("redis://node-1", "unix:///run/redis.sock") == Likeness::different);
}
