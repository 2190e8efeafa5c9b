#include <array>
#include <string>

#include <doctest/doctest.h>

#include "base/nearest.hpp"
#include "base/utf8.hpp"

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

TEST_CASE("a character's number becomes its UTF-8") {
  std::string text;
  for (const std::uint32_t c : {0x41U, 0x7FU, 0xE9U, 0x20ACU, 0x1F512U}) {
    CHECK(append_utf8(text, c));
  }
  CHECK(text == "A\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92");
  for (const std::uint32_t c : {0U, 0xD800U, 0xDFFFU, 0x110000U}) {
    CHECK_FALSE(append_utf8(text, c));
  }
  CHECK(text.size() == 11);
}
