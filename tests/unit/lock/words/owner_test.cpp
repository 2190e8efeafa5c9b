#include "lock/words/owner.hpp"

#include <pwd.h>
#include <set>
#include <unistd.h>

#include <doctest/doctest.h>

#include "unit/scratch.hpp"

using namespace rlock::lock;

TEST_CASE("an owner is a UUID and our pid") {
  const std::string owner = fresh_owner();
  CHECK(owner.size() == 37 + std::to_string(::getpid()).size());
  CHECK(owner.ends_with(":" + std::to_string(::getpid())));
  CHECK(owner.find_first_of("/ =") == std::string::npos);  // it stands in RLOCK_HELD
}

TEST_CASE("no two owners are equal") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(fresh_owner());
  CHECK(seen.size() == 100);
}

TEST_CASE("what is said about a process is its program's name, without path and arguments") {
  CHECK(about_this_process("/usr/bin/backup").command == "backup");
  CHECK(about_this_process("backup").command == "backup");
  CHECK(about_this_process("").command.empty());
  CHECK(about_this_process("caf\xe9").command == "caf\xe9");
  CHECK(about_this_process("x").pid == ::getpid());
  CHECK_FALSE(about_this_process("x").host.empty());
  CHECK_FALSE(about_this_process("x").process.empty());
}

TEST_CASE("what is said about the caller is who that is, and that the hold does not end with it") {
  const About about = about_calling_process();
  CHECK(about.pid == ::getppid());
  CHECK_FALSE(about.command.empty());
  CHECK(about.process.empty());
}

TEST_CASE("the user's name is LOGNAME, else USER, else that of the uid") {
  rlock::test::Environment environment;
  environment.set("LOGNAME", "alice");
  environment.set("USER", "bob");
  CHECK(about_this_process("x").user == "alice");
  environment.set("LOGNAME", "");
  CHECK(about_this_process("x").user == "bob");
  environment.set("LOGNAME", std::nullopt);
  environment.set("USER", "b\xff");
  CHECK(about_this_process("x").user == "b\xff");
  environment.set("USER", std::nullopt);
  const passwd* entry = ::getpwuid(::geteuid());
  const std::string name = entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
  CHECK(about_this_process("x").user == name);
}

TEST_CASE("what looks like an owner: a UUID, and what redis-py, node-redlock and redsync write") {
  for (const char* value :
       {"8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a7", "8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a7:42",
        "5e6f5abce6dc11f1b60c02fc00000001", "pQcpySFPOy3hqmvXAcK1gA==",
        "ADDED:2026-11-29T07:38:13.042Z@web1", "ADDED:2026-11-29T07:38:13Z@w"}) {
    CAPTURE(value);
    CHECK(looks_like_owner(value));
  }
  for (const char* value :
       {"", "user=ann;token=s3cret",
        "8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a7:", "5e6f5abce6dc11f1b60c02fc0000000g",
        "5e6f5abce6dc11f1", "pQcpySFPOy3hqmvXAcK1g;==", "pQcpySFPOy3hqmvXAcK1gAAA",
        "ADDED:2026-11-29T07:38:13.042Z@", "ADDED:2026-11-29T07:38:13.042Z", "ADDED:today@web1",
        "ADDED:2026-11-29T07:38:13.042+01@web1", "ADDED:"}) {
    CAPTURE(value);
    CHECK_FALSE(looks_like_owner(value));
  }
}

TEST_CASE("what looks like an owner in a hash: what rlock and Redisson write") {
  const std::string uuid = "8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a7";
  for (const char* end : {":42", ":-42", ":42:write", ":42:0a1b", ":42:0a1b:write"}) {
    CAPTURE(end);
    CHECK(looks_like_field_owner(uuid + end));
  }
  for (const std::string& field : {std::string(), std::string("2026:11"), uuid, uuid + ":",
                                   uuid + ":-", uuid + ":x", uuid + ":42x", uuid + ":42:",
                                   uuid + ":42:a b", uuid.substr(1) + ":42", "x" + uuid + ":42"}) {
    CAPTURE(field);
    CHECK_FALSE(looks_like_field_owner(field));
  }
}
