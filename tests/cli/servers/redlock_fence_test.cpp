// rlock fence over several servers, of which some have lost the counter, one after the other.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/quorum.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_counter = "redisson_lock_token:{job}";

Result fence(const Quorum& quorum, const std::string& token) {
  return run(quorum.rlock("fence", {"--timeout", "2s", "job", token}));
}

std::string draw(const Quorum& quorum) {
  const Result result =
      run(quorum.rlock("exec", {"--timeout", "2s", "--restart-delay", "0", "--fence", "job", "--",
                                "sh", "-c", "printf %s $RLOCK_TOKEN"}));
  REQUIRE(result.status == 0);
  return result.out;
}

int knowing(Quorum& quorum, const std::string& token) {
  int count = 0;
  for (int i = 0; i < quorum.size(); ++i) {
    if (quorum[i].pid() >= 0 && quorum[i].command({"GET", k_counter}) == token) ++count;
  }
  return count;
}

// Returns a token that all servers know: a majority would be enough for rlock.
std::string draw_on_all(Quorum& quorum) {
  std::string token;
  REQUIRE(wait_until([&] {
    token = draw(quorum);
    return knowing(quorum, token) == quorum.size();
  }));
  return token;
}

void restart(Server& server) {
  server.stop();
  server.start();
}

}  // namespace

TEST_CASE("Redlock: a stale token stays stale while servers lose the counter one by one") {
  Quorum quorum(3, Memory::lost);
  const std::string old = draw_on_all(quorum);
  quorum[2].pause();
  const std::string young = draw(quorum);
  restart(quorum[2]);
  CHECK(knowing(quorum, young) == 2);
  const std::string line =
      "rlock: job: token " + old + " is stale: the highest so far is " + young + "\n";
  for (int asked = 0; asked < 2; ++asked) {
    const Result result = fence(quorum, old);
    CHECK(result.status == 1);
    CHECK(result.err == line);
  }
  // It has learned nothing from who asked.
  CHECK(quorum[2].command({"GET", k_counter}) == "(nil)");
  restart(quorum[0]);
  for (int asked = 0; asked < 2; ++asked) {
    const Result result = fence(quorum, old);
    CHECK(result.status == 1);
    CHECK(result.err == line);
  }
  // The only one that knows does not answer: nobody can tell.
  quorum[1].pause();
  for (const std::string& token : {old, young}) {
    const Result result = fence(quorum, token);
    CHECK(result.status == 69);
    CHECK(result.err.starts_with(
        "rlock: job: too few of the 3 servers answered, 2 are needed to check "
        "the token: 2 without a counter, which may have been lost; "));
  }
  quorum[1].resume();
  // The token that it knows is accepted, and nobody learns from who asks.
  CHECK(fence(quorum, young).status == 0);
  CHECK(knowing(quorum, young) == 1);
  restart(quorum[1]);
  for (const std::string& token : {old, young}) CHECK(fence(quorum, token).status == 1);
  CHECK(knowing(quorum, "(nil)") == 3);
  CHECK(draw(quorum) > young);
}

TEST_CASE(
    "Redlock: one server that has lost the counter, or is away, keeps no token from its use") {
  Quorum quorum(3, Memory::lost);
  const std::string token = draw_on_all(quorum);
  SUBCASE("lost") { restart(quorum[1]); }
  SUBCASE("away") { quorum[1].stop(); }
  CHECK(fence(quorum, token).status == 0);
  CHECK(fence(quorum, "5").status == 1);
  // One that is away may know a higher one.
  CHECK(fence(quorum, std::to_string(std::stoll(token) + 5)).status ==
        (quorum[1].pid() < 0 ? 69 : 1));
  CHECK(fence(quorum, token).status == 0);
}

TEST_CASE(
    "Redlock: a nested run has the outer one's token, also where nothing is told of the owner") {
  Quorum quorum(3);
  for (const std::string kind : {"reentrant", "simple"}) {
    for (const std::string info : {"-q", "--no-info"}) {
      CAPTURE(kind);
      CAPTURE(info);
      std::vector<std::string> nested =
          quorum.rlock("exec", {"--kind", kind, info, "--fence", "job", "--"});
      std::vector<std::string> argv = nested;
      argv.insert(argv.end(), nested.begin(), nested.end());
      argv.emplace_back("true");
      const Result result = run(argv);
      CAPTURE(result.err);
      CHECK(result.status == 0);
    }
  }
}

TEST_CASE("Redlock: why a nested run has no token is told, whatever became of the outer one's") {
  Quorum quorum(3);
  std::string inner;
  for (const std::string& word : quorum.rlock("exec", {"--fence", "job", "--", "true"})) {
    inner += word + " ";
  }
  Process outer(
      quorum.rlock("exec", {"--fence", "job", "--", "sh", "-c", "echo in; read x; " + inner}),
      {.stdin_text = "", .hold_stdin = true});
  outer.wait_for_stdout("in");
  for (int i = 0; i < quorum.size(); ++i)
    quorum[i].command({"SET", k_counter, "9000000000000000000"});
  outer.close_stdin();
  const Result result = outer.wait();
  CHECK(result.status == 64);
  CHECK(has(result.err, "there is a higher one"));
}

TEST_CASE("Redlock: a token that no server has as its highest was never drawn") {
  Quorum quorum(3);
  const Result unknown = fence(quorum, "5");
  CHECK(unknown.status == 1);
  CHECK(has(unknown.err, "token 5 is unknown"));
  CHECK(knowing(quorum, "(nil)") == 3);
  quorum[0].command({"SET", k_counter, "4"});
  quorum[1].command({"SET", k_counter, "3"});
  const Result high = fence(quorum, "5");
  CHECK(high.status == 1);
  CHECK(has(high.err, "was never drawn: the highest so far is 4"));
  CHECK(fence(quorum, "4").status == 0);
}
