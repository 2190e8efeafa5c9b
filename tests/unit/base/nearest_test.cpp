#include "base/nearest.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>

using namespace rlock;

TEST_CASE("a mistyped word is nearest to the one that was meant, others to none") {
  constexpr std::array<std::string_view, 4> k_known = {"redis", "timeout", "user", "tls-ca"};
  CHECK(nearest_word("redis", k_known) == "redis");
  CHECK(nearest_word("rdis", k_known) == "redis");
  CHECK(nearest_word("rediss", k_known) == "redis");
  CHECK(nearest_word("tiemout", k_known) == "timeout");
  CHECK(nearest_word("usr", k_known) == "user");
  CHECK(nearest_word("uesr", k_known) == "user");
  CHECK(nearest_word("tls_ca", k_known) == "tls-ca");
  CHECK(nearest_word("us", k_known) == std::nullopt);
  CHECK(nearest_word("lease", k_known) == std::nullopt);
  CHECK(nearest_word("", k_known) == std::nullopt);
  CHECK(nearest_word(std::string(1'000'000, 'x'), k_known) == std::nullopt);
  CHECK(nearest_word("x", {}) == std::nullopt);
}
