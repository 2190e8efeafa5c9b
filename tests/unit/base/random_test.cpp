#include "base/random.hpp"

#include <set>

#include <doctest/doctest.h>

using namespace rlock;

TEST_CASE("random_hex returns two digits a byte") {
  CHECK(random_hex(0).empty());
  const std::string hex = random_hex(16);
  CHECK(hex.size() == 32);
  CHECK(hex.find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("random_uuid returns a UUID of version 4") {
  for (int i = 0; i < 100; ++i) {
    const std::string uuid = random_uuid();
    CAPTURE(uuid);
    REQUIRE(uuid.size() == 36);
    for (std::size_t at = 0; at < uuid.size(); ++at) {
      const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
      CHECK((uuid[at] == '-') == dash);
    }
    CHECK(uuid[14] == '4');
    CHECK(std::string("89ab").find(uuid[19]) != std::string::npos);
  }
}

TEST_CASE("no two identifiers are equal") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_uuid());
  CHECK(seen.size() == 1000);
}

TEST_CASE("random_below stays below its limit and reaches every number") {
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_below(5));
  CHECK(seen == std::set<std::uint32_t>{0, 1, 2, 3, 4});
  CHECK(random_below(1) == 0);
}
