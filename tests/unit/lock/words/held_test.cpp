#include "lock/words/held.hpp"

#include <string>

#include <doctest/doctest.h>

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

TEST_CASE("any owner comes back") {
  for (const std::string& owner : {"a b"s, "a=b"s, "a/b"s, "a%20b"s, "%"s, "/"s, "\n"s, "\0"s,
                                   "\xff\xfe"s, "11111111-2222-4333-8444-555555555555:7"s}) {
    CAPTURE(owner);
    const std::string held = with_held("other=o/r", "job", owner, "run1");
    CHECK(find_held(held, "job")->owner == owner);
    CHECK(find_held(with_held(held, "job", owner, "run2"), "job")->runs == "run1/run2");
    CHECK(find_held(held, "other"));
  }
  CHECK_FALSE(find_held("job=%zz/run", "job"));
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
  for (
      const char* nonsense :
      {"",       " ",        "   ",           "job",       "job=",      "job=o",      "job=/r",
       "=o/r",   "%zz=o/r",  "job%=o/r",      "/",         "=",         "==",         "other=o/r",
       "job=o/", "job=o//r", "job=o/\x1b[2J", "job=o/r\n", "job=o/r=x", "job=o/\xff", "job/=o/r"}) {
    CAPTURE(nonsense);
    CHECK_FALSE(find_held(nonsense, "job"));
    const std::string mixed = nonsense + " job=good:1/run "s + nonsense;
    const auto entry = find_held(mixed, "job");
    REQUIRE(entry);
    CHECK(entry->owner == "good:1");
    const std::string handed_on = with_held(mixed, "job", "new:1", "r");
    CHECK(find_held(handed_on, "job")->owner == "new:1");
    if (nonsense != "other=o/r"s) CHECK(handed_on == "job=new:1/r");
  }
}

TEST_CASE("what is longer than a name or an owner can be is none of ours") {
  const std::string longest(1024, 'x');
  CHECK(find_held(longest + "=" + longest + "/r", longest)->owner == longest);
  CHECK_FALSE(find_held("x" + longest + "=o/r", "x" + longest));
  CHECK_FALSE(find_held("job=x" + longest + "/r", "job"));
}

TEST_CASE("a variable that would leave no room for another entry counts for nothing") {
  std::string held = "job=o/r";
  while (held.size() < 120'000 - 100) held += " other" + std::to_string(held.size()) + "=o/r";
  CHECK(find_held(held, "job"));
  held += std::string(120'000 - held.size(), ' ');
  CHECK(find_held(held, "job"));
  held += ' ';
  CHECK_FALSE(find_held(held, "job"));
  CHECK(with_held(held, "job", "o", "r") == "job=o/r");
}

TEST_CASE("with_held leaves one entry for a name") {
  const std::string held = with_held("job=a/1 job=b/2 %6Aob=c/3", "job", "d", "4");
  CHECK(held == "job=d/4");
}

TEST_CASE("an entry of another owner stays after the new one if a run of exec is in it") {
  const std::string one = "0123456789abcdef";
  const std::string two = "fedcba9876543210";
  std::string held = with_held("x=o:3/r", "job", "o:1", one);
  held = with_held(held, "job", "o:2", two);
  CHECK(held == "x=o:3/r job=o:2/" + two + " job=o:1/" + one);
  held = with_held(held, "job", "o:1", "r3");
  CHECK(held == "x=o:3/r job=o:1/" + one + "/r3 job=o:2/" + two);
  CHECK(find_held(held, "job")->owner == "o:1");
  CHECK(rlock::lock::find_all_held(held, "job").at(1).owner == "o:2");
  CHECK(rlock::lock::innermost_of(held) == "x=o:3/r job=o:1/" + one + "/r3");

  for (int i = 10; i < 20; ++i) held = with_held(held, "job", "o:" + std::to_string(i), one);
  CHECK(rlock::lock::find_all_held(held, "job").size() == 4);
  CHECK(rlock::lock::find_all_held(held, "job").back().owner == "o:16");
  CHECK(held.size() < 150);
}

TEST_CASE("with_runs keeps the entries that still have runs") {
  const std::string held = "a%20b=o%3D1/r1/r2 gone=o/r garbled c=o2/r3";
  const std::string kept = rlock::lock::with_runs(held, [](const auto& name, const auto& entry) {
    return name == "gone" ? std::string() : name == "c" ? entry.runs : std::string("r2");
  });
  CHECK(kept == with_held(with_held("", "a b", "o=1", "r2"), "c", "o2", "r3"));
  CHECK(rlock::lock::with_runs("", [](const auto&, const auto&) { return "r"; }).empty());
}
