#include "base/text_width.hpp"

#include <doctest/doctest.h>

using rlock::display_width;
using rlock::fit;
using rlock::wrap;

TEST_CASE("display_width counts columns, not bytes") {
  CHECK(display_width("") == 0);
  CHECK(display_width("backup") == 6);
  CHECK(display_width("Zürich") == 6);
  CHECK(display_width("日本") == 4);
  CHECK(display_width("e\u0301") == 1);
}

TEST_CASE("display_width takes what is not UTF-8 for one column a byte") {
  CHECK(display_width("a\xff\xc3") == 3);
}

TEST_CASE("fit leaves what fits and marks what it cuts") {
  CHECK(fit("backup", 6) == "backup");
  CHECK(fit("backup", 5) == "back…");
  CHECK(fit("backup", 1) == "…");
  CHECK(fit("backup", 0) == "");
  CHECK(fit("", 0) == "");
}

TEST_CASE("wrap breaks between words, and cuts what is wider than a line") {
  CHECK(wrap("one two three", 2, 9) == "  one two\n  three\n");
  CHECK(wrap("one two three", 2, std::nullopt) == "  one two three\n");
  CHECK(wrap("incomprehensible", 0, 8) == "incompr…\n");
  CHECK(wrap("", 1, 8) == " \n");
}

TEST_CASE("fit never cuts a character in two") {
  CHECK(fit("日本語", 5) == "日本…");
  CHECK(fit("日本語", 4) == "日…");
  CHECK(fit("üüü", 2) == "ü…");
}
