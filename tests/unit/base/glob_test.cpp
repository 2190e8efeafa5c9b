#include "base/glob.hpp"

#include <string>

#include <doctest/doctest.h>

using rlock::matches_glob;

TEST_CASE("a glob without special characters means itself") {
  CHECK(matches_glob("job", "job"));
  CHECK_FALSE(matches_glob("job", "jo"));
  CHECK_FALSE(matches_glob("job", "jobs"));
  CHECK_FALSE(matches_glob("", "job"));
}

TEST_CASE("stars and question marks") {
  CHECK(matches_glob("*", "job"));
  CHECK(matches_glob("j*b", "job"));
  CHECK(matches_glob("j*b", "jb"));
  CHECK(matches_glob("*a*a*", "banana"));
  CHECK(matches_glob("**n?", "banana"));
  CHECK_FALSE(matches_glob("*n", "banana"));
  CHECK_FALSE(matches_glob("???", "ab"));
  CHECK(matches_glob("???", "a\nb"));
}

TEST_CASE("classes") {
  CHECK(matches_glob("[a-c]x", "bx"));
  CHECK(matches_glob("[c-a]x", "bx"));
  CHECK_FALSE(matches_glob("[^a-c]x", "bx"));
  CHECK(matches_glob("[\\]]", "]"));
  CHECK(matches_glob("[ab", "b"));
  CHECK_FALSE(matches_glob("[", "["));
  CHECK(matches_glob("[^", "x"));
  CHECK(matches_glob("*[0-9]", "job7"));
}

TEST_CASE("a backslash takes the meaning from what follows it") {
  CHECK(matches_glob("\\*", "*"));
  CHECK_FALSE(matches_glob("\\*", "x"));
  CHECK(matches_glob("a\\", "a\\"));
}

TEST_CASE("many stars take no time that grows like a tower") {
  const std::string text(1024, 'a');
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  CHECK(matches_glob(pattern, text));
  CHECK_FALSE(matches_glob(pattern + "b", text));
}
