#include <doctest/doctest.h>

#include "lock/owner_info.hpp"

using namespace rlock::lock;

TEST_CASE("what is told of an owner is read again as it was") {
  const About about{"web1", 42, "ann", "backup", "ticket 4711", "boot/1/2"};
  const About read = parse_owner_info(to_json(about)).about;
  CHECK(read.host == about.host);
  CHECK(read.pid == about.pid);
  CHECK(read.user == about.user);
  CHECK(read.command == about.command);
  CHECK(read.note == about.note);
  CHECK(read.process == about.process);
}

TEST_CASE("nothing is told of an owner who is not to be known") {
  CHECK(to_json({}).empty());
  About about;
  about.note = "ticket 4711";
  CHECK(to_json(about) == R"({"note":"ticket 4711"})");
}

TEST_CASE("bytes that JSON cannot hold are told as \\xNN") {
  About about;
  about.command = "caf\xe9";
  CHECK(to_json(about) == R"({"command":"caf\\xe9"})");
}
