#include <string>

#include <doctest/doctest.h>

#include "lock/held.hpp"

using rlock::lock::find_held;
using rlock::lock::with_held;
using std::string_literals::operator""s;

TEST_CASE("what with_held has written, find_held finds") {
  const std::string held = with_held("", "job", "uuid:1", "run1");
  CHECK(held == "job=uuid:1/run1");
  const auto entry = find_held(held, "job");
  REQUIRE(entry);
  CHECK(entry->owner == "uuid:1");
  CHECK(entry->runs == "run1");
  CHECK_FALSE(find_held(held, "jo"));
  CHECK_FALSE(find_held(held, "job2"));
  CHECK_FALSE(find_held("", "job"));
}

TEST_CASE("any name comes back") {
  for (const std::string& name : {"a b"s, "a=b"s, "a/b"s, "a%20b"s, "%"s, "="s, " "s, "\n"s, "\0"s,
                                  "\xff\xfe"s, "caf\u00e9"s, "{tag}:x"s}) {
    CAPTURE(name);
    const std::string held = with_held("other=o/r", name, "owner:7", "run");
    CHECK(held.find('\0') == std::string::npos);
    const auto entry = find_held(held, name);
    REQUIRE(entry);
    CHECK(entry->owner == "owner:7");
    CHECK(entry->runs == "run");
    CHECK(find_held(held, "other"));
  }
}

TEST_CASE("several locks stand side by side") {
  std::string held = with_held("", "a", "o1:1", "r1");
  held = with_held(held, "b", "o2:2", "r2");
  held = with_held(held, "c", "o3:3", "r3");
  CHECK(find_held(held, "a")->owner == "o1:1");
  CHECK(find_held(held, "b")->owner == "o2:2");
  CHECK(find_held(held, "c")->owner == "o3:3");
}

TEST_CASE("a run for the same owner adds itself to the runs") {
  std::string held = with_held("", "job", "o:1", "r1");
  held = with_held(held, "other", "o:2", "r2");
  held = with_held(held, "job", "o:1", "r3");
  CHECK(find_held(held, "job")->runs == "r1/r3");
  CHECK(find_held(held, "other")->runs == "r2");
  held = with_held(held, "job", "o:1", "r4");
  CHECK(find_held(held, "job")->runs == "r1/r3/r4");
}

TEST_CASE("another owner takes the entry's place") {
  std::string held = with_held("", "job", "o:1", "r1");
  held = with_held(held, "job", "o:9", "r2");
  CHECK(find_held(held, "job")->owner == "o:9");
  CHECK(find_held(held, "job")->runs == "r2");
  CHECK(held == "job=o:9/r2");
}

TEST_CASE("entries that make no sense are skipped") {
  for (const char* nonsense : {"", " ", "   ", "job", "job=", "job=o", "job=/r", "=o/r", "%zz=o/r",
                               "job%=o/r", "/", "=", "==", "other=o/r"}) {
    CAPTURE(nonsense);
    CHECK_FALSE(find_held(nonsense, "job"));
    const std::string mixed = nonsense + " job=good:1/run "s + nonsense;
    const auto entry = find_held(mixed, "job");
    REQUIRE(entry);
    CHECK(entry->owner == "good:1");
    CHECK(find_held(with_held(mixed, "job", "new:1", "r"), "job")->owner == "new:1");
  }
}

TEST_CASE("with_held leaves one entry for a name") {
  const std::string held = with_held("job=a/1 job=b/2 %6Aob=c/3", "job", "d", "4");
  CHECK(held == "job=d/4");
}
