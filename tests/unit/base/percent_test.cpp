#include "base/percent.hpp"

#include <string>

#include <doctest/doctest.h>

using rlock::percent_decode;
using rlock::percent_encode;
using std::string_literals::operator""s;

TEST_CASE("percent_encode leaves letters, digits and -._~: alone") {
  CHECK(percent_encode("aZ09-._~:") == "aZ09-._~:");
  CHECK(percent_encode("a b/c=%") == "a%20b%2Fc%3D%25");
  CHECK(percent_encode("\xff\0"s) == "%FF%00");
  CHECK(percent_encode("") == "");
}

TEST_CASE("percent_decode takes both cases") {
  CHECK(percent_decode("a%2Fb%2fc") == "a/b/c");
  CHECK(percent_decode("%00") == "\0"s);
  CHECK(percent_decode("") == "");
  CHECK(percent_decode("plain+text") == "plain+text");
}

TEST_CASE("percent_decode refuses a % without two digits") {
  for (const char* text : {"%", "a%", "%2", "%zz", "%2g", "%%41", "%-1", "% 1"}) {
    CAPTURE(text);
    CHECK_FALSE(percent_decode(text));
  }
}

TEST_CASE("every byte comes back from percent_encode and percent_decode") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(percent_decode(percent_encode(all)) == all);
}
