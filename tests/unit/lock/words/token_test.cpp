// lock/words/token: what is a token.
#include "lock/words/token.hpp"

#include <string>

#include <doctest/doctest.h>

using rlock::lock::parse_token;

TEST_CASE("parse_token: whole numbers from 0 to 2^63-1, and nothing else") {
  CHECK(parse_token("0") == 0);
  CHECK(parse_token("007") == 7);
  CHECK(parse_token("1795186992994499") == 1'795'186'992'994'499);
  CHECK(parse_token("9223372036854775807") == 9'223'372'036'854'775'807);
  for (const char* text : {"", "-", "-1", "-0", "+1", " 1", "1 ", "1\n2", "1.5", "1e3", "0x10", "x",
                           "9223372036854775808", "99999999999999999999999999"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_token(text));
  }
}
