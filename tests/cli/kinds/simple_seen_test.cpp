// --kind simple: what others see of a string lock, and of its end.
// Labels: server rights-plain
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/beats.hpp"
#include "cli/kinds/simple_fixture.hpp"
#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace rlock::test::simples;
using std::string_literals::operator""s;

namespace {

std::string event(const std::string& what, const std::string& owner) {
  return "\"event\":\"" + what + "\",\"owner\":\"" + owner + "\"";
}

}  // namespace

TEST_CASE("simple: inspect-queue and list tell who holds a string") {
  Server server;
  const std::string owner = acquire(server, {"--note", "hello"});
  const Result json = invoke(server, {"inspect-queue", "--json", "job"});
  CHECK(has(json.out, "\"state\":\"held\",\"kind\":\"simple\""));
  CHECK(
      has(json.out, "\"owner\":\"" + owner + "\",\"count\":1,\"mode\":\"exclusive\",\"host\":\""));
  CHECK(has(json.out, "\"note\":\"hello\""));
  CHECK_FALSE(has(json.out, "\"pid\":null"));
  CHECK_FALSE(has(json.out, "\"since_ms\":null"));
  CHECK(has(json.out, "\"problems\":[]"));
  CHECK(has(invoke(server, {"inspect-queue", "job"}).out, "held (simple)"));

  // Of strings without a key of ours beside them only those that the user asks for.
  const std::string binary = "\0\x01\xfe\x1b[2J\r\n\"\\0123456789"s;
  server.command({"SET", "foreign", binary, "PX", "60000"});
  const Result foreign = invoke(server, {"inspect-queue", "--json", "foreign"});
  CHECK(has(foreign.out, "\"kind\":\"simple\""));
  CHECK(has(foreign.out, "\"owner\":\"\\u0000\\u0001\\\\xfe\\u001b[2J\\r...\""));
  CHECK(has(foreign.out, "\"host\":null"));
  const std::string text = invoke(server, {"inspect-queue", "foreign"}).out;
  CHECK(has(text, "\\x00\\x01\\xfe\\x1b[2J"));
  CHECK_FALSE(has(text, "\x1b"));
  const Result list = invoke(server, {"list", "--json"});
  CHECK(has(list.out, "{\"name\":\"job\",\"kind\":\"simple\",\"state\":\"held\""));
  CHECK(has(list.out, "\"owner\":\"" + owner + "\""));
  CHECK_FALSE(has(list.out, "foreign"));
  CHECK(has(invoke(server, {"list", "--json", "--simple", "for*"}).out, "\"name\":\"foreign\""));
}

TEST_CASE("simple: nothing is told of a holder who does not want it") {
  Server server;
  const std::string owner = acquire(server, {"--no-info"});
  CHECK(server.keys() == Words{"job"});
  const Result json = invoke(server, {"inspect-queue", "--json", "job"});
  CHECK(has(json.out, "\"owner\":\"" + owner + "\""));
  CHECK(has(json.out, "\"pid\":null"));
}

TEST_CASE("simple: a lock of rlock's that is broken is told with its holder, and leaves nothing") {
  Server server;
  const std::string owner = acquire(server);
  Words force{"unlock", "--force", "-y", "--kind", "simple", "job"};
  const Result broken = invoke(server, force);
  CHECK(broken.status == 0);
  CHECK(has(broken.err, "rlock: job: taken from "));
  CHECK(has(broken.err, " pid "));
  CHECK(has(broken.err, owner));
  CHECK(comes_to_be_empty(server));
}

TEST_CASE("simple: watch tells what happens to a string") {
  Server server;
  Process watch(argv_for(server, {"watch", "--json", "job"}));
  watch.wait_for_stdout("\"state\":\"free\"");
  const std::string owner = acquire(server);
  watch.wait_for_stdout(event("held", owner));
  REQUIRE(invoke(server, {"renew", "--owner", owner, "--lease", "2h", "job"}).status == 0);
  watch.wait_for_stdout(event("renewed", owner));
  REQUIRE(invoke(server, {"unlock", "--owner", owner, "job"}).status == 0);
  watch.wait_for_stdout(event("released", owner));
  server.command({"SET", "job", "foreign\xff", "PX", "8000"});
  watch.wait_for_stdout(event("held", "foreign\\\\xff"));
  watch.wait_for_stdout(event("expired", "foreign\\\\xff"));
  // Gone before its time without a word.
  server.command({"SET", "job", "other", "PX", "60000"});
  watch.wait_for_stdout(event("held", "other"));
  server.command({"DEL", "job"});
  watch.wait_for_stdout(event("released", "other"));
}
