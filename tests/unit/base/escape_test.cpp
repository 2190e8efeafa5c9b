#include "base/escape.hpp"

#include <string>

#include <doctest/doctest.h>

using rlock::escape_for_terminal;
using rlock::to_utf8;
using std::string_literals::operator""s;

TEST_CASE("escape_for_terminal leaves text as it is") {
  for (const char* text : {"", "nightly backup", "Größe", "名前", "\\x1b", "😀", "tab\\t"}) {
    CAPTURE(text);
    CHECK(escape_for_terminal(text) == text);
  }
}

TEST_CASE("escape_as_codes writes control characters as TOML has them") {
  CHECK(rlock::escape_as_codes("a\tb\n\x7f\xc2\x9b\xe2\x80\xae\xc3\xa9") ==
        "a\\u0009b\\u000a\\u007f\\u009b\\u202e\xc3\xa9");
}

TEST_CASE("escape_for_terminal makes control characters visible") {
  CHECK(escape_for_terminal("\x1b[2J") == "\\x1b[2J");
  CHECK(escape_for_terminal("a\nb") == "a\\nb");
  CHECK(escape_for_terminal("a\r\tb") == "a\\x0d\\x09b");
  CHECK(escape_for_terminal("a\0b"s) == "a\\x00b");
  CHECK(escape_for_terminal("\x7f") == "\\x7f");
}

TEST_CASE("escape_for_terminal escapes C1, which some terminals obey" * doctest::test_suite("C1")) {
  CHECK(escape_for_terminal("\xc2\x9b"
                            "2J") == "\\xc2\\x9b2J");
  CHECK(escape_for_terminal("\xc2\xa0") == "\xc2\xa0");
}

TEST_CASE("escape_for_terminal escapes what reorders or hides text") {
  CHECK(escape_for_terminal("\u202e") == "\\xe2\\x80\\xae");
  CHECK(escape_for_terminal("\u200b") == "\\xe2\\x80\\x8b");
  CHECK(escape_for_terminal("\u2066") == "\\xe2\\x81\\xa6");
  CHECK(escape_for_terminal("\u2060") == "\\xe2\\x81\\xa0");
  CHECK(escape_for_terminal("\u2028") == "\\xe2\\x80\\xa8");
  CHECK(escape_for_terminal("\ufeff") == "\\xef\\xbb\\xbf");
  CHECK(escape_for_terminal("\u061c") == "\\xd8\\x9c");
}

TEST_CASE("bytes that are not UTF-8 are written as hexadecimal numbers") {
  struct Case {
    std::string bytes;
    std::string expected;
  };
  for (const Case& c : {
           Case{"\xff", "\\xff"},
           Case{"a\x80z", "a\\x80z"},
           Case{"\xc3", "\\xc3"},                             // cut short
           Case{"\xc3(", "\\xc3("},                           // no continuation
           Case{"\xc0\xaf", "\\xc0\\xaf"},                    // overlong
           Case{"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},           // overlong
           Case{"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // surrogate
           Case{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond Unicode
           Case{"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"},
       }) {
    CAPTURE(c.expected);
    CHECK(escape_for_terminal(c.bytes) == c.expected);
    CHECK(to_utf8(c.bytes) == c.expected);
  }
}

TEST_CASE("to_utf8 keeps everything that is UTF-8, also control characters") {
  for (const std::string& text : {"a\nb\x1b"s, "nul\0nul"s, "ü\u202e😀"s, ""s}) {
    CHECK(to_utf8(text) == text);
  }
}

TEST_CASE("from_hex reads what to_hex writes, and nothing else") {
  using rlock::from_hex;
  const std::string bytes = "\x00\x7f\x80\xff"s;
  CHECK(from_hex(rlock::to_hex(bytes)) == bytes);
  CHECK(from_hex("") == "");
  for (const char* other : {"0", "0g", "g0", "0F", " 0", "0x"}) CHECK_FALSE(from_hex(other));
}
