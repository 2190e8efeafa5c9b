// Fencing tokens, as the user sees them: --fence, RLOCK_TOKEN and rlock fence.
// Labels: server rights-fair
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_counter = "redisson_lock_token:{job}";
const std::string k_huge = "9007199254740993";  // 2^53 + 1

ProcessOptions at(const Server& server) {
  return {.env = {{"RLOCK", rlock_program()}, {"RLOCK_REDIS", server.unix_url()}}};
}

Result invoke(const Server& server, const Words& words) {
  return run(rlock_argv(words), at(server));
}

// What `script` prints under `rlock exec OPTIONS`.
std::string print_under(const Server& server, Words options, const std::string& script) {
  options.insert(options.begin(), "exec");
  options.insert(options.end(), {"--", "sh", "-c", script});
  const Result result = invoke(server, options);
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  return result.out;
}

const std::string k_longest = "9223372036854775807";
const char* const k_show = "echo \"${RLOCK_TOKEN-none}\"";

std::string draw(const Server& server, const Words& options = {"--fence", "job"}) {
  const std::string token = print_under(server, options, "printf %s \"$RLOCK_TOKEN\"");
  CHECK(token.size() == 16);
  CHECK(std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; }));
  return token;
}

}  // namespace

TEST_CASE("fence: each run with --fence has a higher token, and leaves only the counter") {
  Server server;
  std::string last = "0000000000000000";
  for (const Words& options :
       {Words{"--fence", "job"}, Words{"--fair", "--fence", "job"},
        Words{"--kind", "simple", "--fence", "job"},
        Words{"--kind", "simple", "--fence", "--no-info", "job"},
        Words{"--fence", "--no-info", "job"}, Words{"--fence", "--no-watchdog", "job"}}) {
    const std::string token = draw(server, options);
    CHECK(token > last);
    last = token;
    CHECK(wait_until([&] { return server.keys() == Words{k_counter}; }));
  }
  CHECK(server.command({"TTL", k_counter}) == "-1");
  server.command({"SET", k_counter, k_huge});
  CHECK(print_under(server, {"--fence", "job"}, k_show) == "9007199254740994\n");
}

TEST_CASE("fence: a token goes stale with the next grant") {
  Server server;
  const std::string old = draw(server);
  CHECK(invoke(server, {"fence", "job", old}).status == 0);
  const std::string young = draw(server);
  CHECK(young > old);
  const Result stale = invoke(server, {"fence", "job", old});
  CHECK(stale.status == 1);
  CHECK(stale.out.empty());
  CHECK(stale.err ==
        "rlock: job: token " + old + " is stale: the highest so far is " + young + "\n");
  for (int i = 0; i < 2; ++i) {
    const Result good = invoke(server, {"fence", "job", young});
    CHECK(good.status == 0);
    CHECK(good.out.empty());
    CHECK(good.err.empty());
  }
  const Result quiet = invoke(server, {"fence", "-q", "job", old});
  CHECK(quiet.status == 1);
  CHECK(quiet.err.empty());
  CHECK(server.keys() == Words{k_counter});
}

TEST_CASE("fence: a check changes nothing, and refuses a token that was never drawn") {
  Server server;
  const Result unknown = invoke(server, {"fence", "job", "5"});
  CHECK(unknown.status == 1);
  CHECK(unknown.err ==
        "rlock: job: token 5 is unknown: no token was drawn for this lock, or the server has lost "
        "its data since\n");
  CHECK(server.keys().empty());
  const std::string token = draw(server);
  for (const std::string& other : {std::to_string(std::stoll(token) + 1), k_longest}) {
    const Result result = invoke(server, {"fence", "job", other});
    CHECK(result.status == 1);
    CHECK(result.err == "rlock: job: token " + other + " was never drawn: the highest so far is " +
                            token + ", unless the server has lost newer data\n");
  }
  CHECK(server.command({"GET", k_counter}) == token);
  CHECK(invoke(server, {"fence", "job", token}).status == 0);
  CHECK(draw(server) > token);
}

TEST_CASE("fence: doctor --repair mends a counter that gives no token any more") {
  Server server;
  for (const std::string& value : {k_longest, std::string("nonsense")}) {
    server.command({"SET", k_counter, value});
    CHECK(invoke(server, {"exec", "--fence", "job", "--", "true"}).status == 76);
    const Result found = invoke(server, {"doctor", "job"});
    CHECK(found.status == 1);
    CHECK(has(found.out, value == k_longest ? "token_too_high" : "bad_token"));
    CHECK(has(invoke(server, {"doctor"}).out, value == k_longest ? "token_too_high" : "bad_token"));
    const Result mended = invoke(server, {"doctor", "--repair"});
    CAPTURE(mended.out);
    CAPTURE(mended.err);
    CHECK(has(mended.out, "from which tokens go on"));
    const std::string token = draw(server);
    CHECK(invoke(server, {"fence", "job", token}).status == 0);
  }
}

TEST_CASE("fence: used in the command itself, before and after somebody else had the lock") {
  Server server;
  CHECK(print_under(server, {"--fence", "job"},
                    "\"$RLOCK\" fence job \"$RLOCK_TOKEN\" && echo written") == "written\n");
  // The lock is lost without the command's knowing.
  const Result late =
      run(rlock_argv("exec", "--fence", "job", "--", "sh", "-c",
                     "\"$RLOCK\" unlock -q -y --force job; RLOCK_HELD= \"$RLOCK\" exec --fence job "
                     "-- true; \"$RLOCK\" fence job \"$RLOCK_TOKEN\" && echo written"),
          at(server));
  CHECK(late.out.empty());
  CHECK(has(late.err, "is stale"));
}

TEST_CASE("fence: a command that outlives its lease cannot write any more") {
  Server server;
  const Result result =
      run(rlock_argv("exec", "--fence", "--no-watchdog", "--on-lost", "ignore", "--lease", "3s",
                     "job", "--", "sh", "-c",
                     "RLOCK_HELD= \"$RLOCK\" exec --fence job -- sh -c '\"$RLOCK\" fence job "
                     "\"$RLOCK_TOKEN\" && echo next'; "
                     "\"$RLOCK\" fence -q job \"$RLOCK_TOKEN\" && echo written; echo end"),
          at(server));
  CAPTURE(result.err);
  CHECK(result.out == "next\nend\n");
  CHECK(result.status == 79);
}

TEST_CASE("fence: repairs leave the counter alone") {
  Server server;
  const std::string token = draw(server);
  server.command({"SET", "redisson_unlock_latch:{job}:a", "1"});
  CHECK_FALSE(has(invoke(server, {"doctor", "--repair"}).out, "token"));
  CHECK_FALSE(has(invoke(server, {"doctor", "--repair", "job"}).out, "token"));
  CHECK(server.command({"GET", k_counter}) == token);
  CHECK(server.command({"TTL", k_counter}) == "-1");
}

TEST_CASE("fence --json: what was checked, and the highest, to the last digit") {
  Server server;
  const Result none = invoke(server, {"fence", "--json", "a \xff", "5"});
  CHECK(none.status == 1);
  CHECK(none.out ==
        "{\"name\":\"a \\\\xff\",\"token\":5,\"highest\":null,\"stale\":true,"
        "\"verdict\":\"no_counter\"}\n");
  server.command({"SET", "redisson_lock_token:{a \xff}", k_huge});
  CHECK(invoke(server, {"fence", "--json", "a \xff", k_huge}).out ==
        "{\"name\":\"a \\\\xff\",\"token\":" + k_huge + ",\"highest\":" + k_huge +
            ",\"stale\":false,\"verdict\":\"accepted\"}\n");
  CHECK(has(invoke(server, {"fence", "--json", "a \xff", "9223372036854775807"}).out,
            "\"stale\":true,\"verdict\":\"not_drawn\"}"));
  const Result stale = invoke(server, {"--json", "fence", "a \xff", "5"});
  CHECK(stale.status == 1);
  CHECK(stale.out == "{\"name\":\"a \\\\xff\",\"token\":5,\"highest\":" + k_huge +
                         ",\"stale\":true,\"verdict\":\"stale\"}\n");
  CHECK(stale.err.empty());
}

TEST_CASE("fence: what is no token, and what is no counter") {
  Server server;
  for (const char* token : {"", "x", "1.5", "1e3", " 1", "1\n2", "9223372036854775808", "0x10"}) {
    CAPTURE(token);
    const Result result = invoke(server, {"fence", "job", token});
    CHECK(result.status == 64);
    CHECK(is_one_message(result.err));
  }
  for (const Words& words : {Words{"fence"}, Words{"fence", "job"}, Words{"fence", "job", "-1"},
                             Words{"fence", "job", "1", "2"}, Words{"fence", "", "1"}}) {
    CHECK(invoke(server, words).status == 64);
  }
  CHECK(server.keys().empty());
  server.command({"SET", k_counter, "x\x1b[31m"});
  for (const Words& words :
       {Words{"fence", "job", "5"}, Words{"exec", "--fence", "job", "--", "echo", "ran"},
        Words{"exec", "--fence", "--fair", "-w", "9s", "job", "--", "echo", "ran"},
        Words{"acquire", "--fence", "--no-watchdog", "job"}}) {
    CAPTURE(words[0]);
    const Result result = invoke(server, words);
    CHECK(result.status == 76);
    CHECK(result.out.empty());
    CHECK(result.err ==
          "rlock: job: no fencing token from redisson_lock_token:{job}: it is no "
          "number\n");
    CHECK(server.keys() == Words{k_counter});
  }
  // Locks without tokens do not care.
  CHECK(invoke(server, {"exec", "job", "--", "true"}).status == 0);
  server.stop();
  CHECK(invoke(server, {"fence", "job", "5"}).status == 69);
}

TEST_CASE("fence: RLOCK_TOKEN is the lock's own, or none") {
  Server server;
  const std::string show = k_show;
  const auto nested = [](const std::string& words) {
    return "echo \"$RLOCK_TOKEN\"; \"$RLOCK\" exec " + words +
           " -- sh -c 'echo \"${RLOCK_TOKEN-none}\"'";
  };
  // Returns the lines that the outer command and the inner one print.
  const auto lines = [&](const Words& options, const std::string& script) {
    const std::string out = print_under(server, options, script);
    const std::size_t end = out.find('\n');
    return std::pair(out.substr(0, end), out.substr(end + 1));
  };
  ProcessOptions inherited = at(server);
  inherited.env["RLOCK_TOKEN"] = "7";
  CHECK(run(rlock_argv("exec", "job", "--", "sh", "-c", show), inherited).out == "none\n");

  // The same lock again: its token, drawn once.
  const auto [token, same] = lines({"--fence", "job"}, nested("--fence job"));
  CHECK(same == token + "\n");
  CHECK(server.command({"GET", k_counter}) == token);
  const auto [kept, passed_on] = lines({"--fence", "job"}, nested("job"));
  CHECK(passed_on == kept + "\n");
  // Another lock: another token, or none.
  CHECK(lines({"--fence", "job"}, nested("other")).second == "none\n");
  CHECK(lines({"--fence", "job"}, nested("job other")).second == "none\n");
  const auto [first, second] = lines({"--fence", "job"}, nested("--fence other"));
  CHECK(second > first);
  const auto [simple, again] =
      lines({"--kind", "simple", "--fence", "job"}, nested("--kind simple --fence job"));
  CHECK(again == simple + "\n");
  // Only the inner run wants one.
  const auto [nothing, drawn] = lines({"job"}, nested("--fence job"));
  CHECK(nothing.empty());
  CHECK(drawn == server.command({"GET", k_counter}) + "\n");
}

TEST_CASE("fence: several names have their tokens in the order of RLOCK_NAME") {
  Server server;
  server.command({"SET", "redisson_lock_token:{a}", k_huge});
  server.command({"SET", "redisson_lock_token:{c}", "9007199254741000"});
  const std::string out =
      print_under(server, {"--fence", "c", "a"}, "echo \"$RLOCK_NAME\"; echo \"$RLOCK_TOKEN\"");
  CHECK(out == "a\nc\n9007199254740994\n9007199254741001\n");
}

TEST_CASE("fence: acquire tells the token as JSON, and prints the owner as ever") {
  Server server;
  server.command({"SET", k_counter, k_huge});
  const Result json = invoke(server, {"acquire", "--json", "--fence", "--no-watchdog", "job"});
  CHECK(has(json.out, "\"token\":9007199254740994,"));
  CHECK(has(invoke(server, {"acquire", "--json", "--no-watchdog", "other"}).out, "\"token\":null"));
  const Result plain = invoke(server, {"acquire", "--fence", "--no-watchdog", "third"});
  CHECK(plain.out == server.command({"HKEYS", "third"}) + "\n");
  CHECK(has(invoke(server, {"inspect-queue", "--json", "job"}).out, "\"token\":9007199254740994,"));
  server.command({"SET", k_counter, "garbage"});
  CHECK(has(invoke(server, {"inspect-queue", "--json", "job"}).out, "\"token\":null,"));
}

TEST_CASE("S6: a grant whose reply was lost has one token, drawn once" *
          doctest::test_suite("S6")) {
  Server server;
  Proxy proxy(server.port());
  draw(server, {"--fence", "warm"});
  for (const char* option : {"--kind=reentrant", "--kind=fair", "--kind=simple"}) {
    proxy.cut_after_next_request("EVALSHA");
    server.command({"SET", k_counter, k_huge});
    const Result result = run(
        rlock_argv("exec", "-r", proxy.url(), option, "--fence", "job", "--", "sh", "-c", k_show));
    CHECK(result.out == "9007199254740994\n");
    CHECK(server.command({"GET", k_counter}) == "9007199254740994");
  }
  CHECK(proxy.cuts() == 3);
}

TEST_CASE("W3: a fair waiter that gets no token lets the next one have its turn" *
          doctest::test_suite("W3")) {
  Server server;
  hold_by_other(server);
  Process first(fair_argv(server, {"--fence"}, {"echo", "first"}));
  REQUIRE(comes_to_queue(server, 1));
  Process second(fair_argv(server, {}, {"echo", "second"}));
  REQUIRE(comes_to_queue(server, 2));
  server.command({"RPUSH", k_counter, "x"});
  let_go(server);
  const Result refused = first.wait();
  CHECK(refused.status == 76);
  CHECK(is_one_message(refused.err));
  CHECK(second.wait().out == "second\n");
  CHECK(wait_until([&] { return server.keys() == Words{k_counter}; }));
}
