#include "lock/words/owner_info.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace rlock::lock;

namespace {

// Everything that is told, in one text.
std::string told(const std::string& json) {
  const OwnerInfo info = parse_owner_info(json);
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : std::string("-");
  };
  return info.about.host + "|" + std::to_string(info.about.pid) + "|" + info.about.user + "|" +
         info.about.command + "|" + (info.kind ? traits_of(*info.kind).name : "") + "|" +
         number(info.since_ms) + "|" + number(info.due_ms);
}

const std::string k_nothing = "|0||||-|-";

}  // namespace

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

TEST_CASE("what rlock's scripts write about an owner is read") {
  CHECK(
      told(R"({"host":"web1","kind":"fair","since":1795275920507,"user":"ann",)"
           R"("due":1.795275930507e+12,"command":"backup.sh","pid":4242,"came":"17952759205"})") ==
      "web1|4242|ann|backup.sh|fair|1795275920507|1795275930507");
}

TEST_CASE("slashes, which the server escapes, are read as they were") {
  CHECK(told(R"({"host":"a\/b\/","user":"\/","command":"c\/\/d","no\/name":"x\/y"})") ==
        "a/b/|0|/|c//d||-|-");
  CHECK(told(R"({"host":"a\/b\\c\/"})") == "a/b\\c/|0||||-|-");
  CHECK(told(R"({"host":"a\/)") == k_nothing);
}

TEST_CASE("other JSON is read alike") {
  CHECK(told(R"( { "host" : "w\u0065b\n1" , "pid" : 1.5e1, "since":0,"due":-3 } )") ==
        "web\n1|15||||0|-3");
  CHECK(told(R"({"host":"é","user":"\"","more":{"host":"x"},"list":[1,"2"],"no":null})") ==
        "é|0|\"|||-|-");
  CHECK(told(R"({"host":"a","host":"b","pid":1,"pid":2})") == "b|2||||-|-");
}

TEST_CASE("values of another type are left out") {
  CHECK(told(R"({"host":1,"pid":"2","user":null,"since":"3","due":true,"kind":[]})") == k_nothing);
}

TEST_CASE("what is no JSON object tells nothing") {
  for (const char* json : {"",
                           "{",
                           "}",
                           "[]",
                           "[[[[",
                           "7",
                           "null",
                           "\"host\"",
                           R"({"host":"x")",
                           R"({"host":"x"}})",
                           R"({"host":"x",})",
                           R"({"host" "x"})",
                           R"({"host":"x"}{})",
                           R"({host:"x"})",
                           R"({"host":"x","pid":})",
                           R"({"host":"x","pid":-})",
                           R"({"host":"x","pid":01})",
                           R"({"host":"x","pid":1.})",
                           R"({"host":"x","pid":1.e5})",
                           R"({"host":"x","pid":+1})",
                           R"({"host":"x","pid":inf})",
                           R"({"host":"x","pid":0x10})",
                           "{\"host\":\"\x01\"}",
                           "{\"host\":\"\xff\"}"}) {
    CAPTURE(json);
    CHECK(told(json) == k_nothing);
  }
}

TEST_CASE("an empty object tells nothing, and numbers beyond all time do not overflow") {
  CHECK(told("{}") == k_nothing);
  CHECK(told(R"({"since":1e300,"due":-1e300})") ==
        "|0||||" + std::to_string(rlock::lock::k_furthest_ms) + "|" +
            std::to_string(-rlock::lock::k_furthest_ms));
}

TEST_CASE("what is read fast is read as all JSON is") {
  // A space in front is not plain.
  const std::string good = R"({"host":"w\/1","pid":-12,"since":1.5e+3,"due":20,"x":"y"})";
  const std::string bytes = std::string("\0\x01 \"/\\{}[]:,.-+eE019nN\x7f\x80\xc3\xff", 26);
  for (std::size_t at = 0; at <= good.size(); ++at) {
    for (const char byte : bytes) {
      std::string replaced = good;
      if (at < good.size()) replaced[at] = byte;
      std::string inserted = good;
      inserted.insert(at, 1, byte);
      for (const std::string& json : {replaced, inserted, good.substr(0, at)}) {
        CAPTURE(json);
        CHECK(told(json) == told(" " + json));
      }
    }
  }
}

TEST_CASE("a holder whose run has ended is read with the time until which the lock is kept") {
  CHECK(parse_owner_info(R"({"outlived":1763855146000})").about.kept_until_ms == 1763855146000);
  for (const char* json : {"{}", R"({"outlived":"soon"})", R"({"outlived":-5})"}) {
    CHECK(parse_owner_info(json).about.kept_until_ms == 0);
  }
}
