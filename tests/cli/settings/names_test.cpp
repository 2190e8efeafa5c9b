// Lock names of any bytes, and Redisson's keys for them.
// Labels: unsanitized rights-plain
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

const std::vector<std::string> k_names = {
    "job",
    "two words",
    " ",
    "line\nbreak",
    "tab\tand\rreturn",
    "it's \"quoted\"",
    "100%20 %s %n",
    "\x1b[2J\x1b]0;title\x07",
    "\xff\xfe\x80 not UTF-8",
    "sm\xc3\xb8rrebr\xc3\xb8\x64",
    "\xe2\x80\xae reversed",
    "a=b/c:d",
    "*?[x]",
    "back\\slash",
    "$(touch /tmp/x)`id`;",
    "{tag}name",
    "a{b",
    "a}b",
    "{",
    "{}",
    std::string(1024, 'n'),
};

bool is_harmless(const std::string& text) {
  return !has(text, "\xe2\x80\xae") && std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\n' || (byte >= 0x20 && byte != 0x7f);
  });
}

// Redisson's rule.
std::string with_prefix(const std::string& prefix, const std::string& name) {
  return prefix + ":" + (has(name, "{") ? name : "{" + name + "}");
}

}  // namespace

TEST_CASE("a name of any bytes is the hash's key, byte for byte") {
  Server server;
  for (const std::string& name : k_names) {
    CAPTURE(name);
    const Result taken =
        run(rlock_argv("acquire", "--no-watchdog", "-r", server.unix_url(), "--", name));
    CAPTURE(taken.err);
    REQUIRE(taken.status == 0);
    const std::string owner = taken.out.substr(0, taken.out.find('\n'));
    Words expected{name, with_prefix("rlock_info", name)};
    std::sort(expected.begin(), expected.end());
    CHECK(server.keys() == expected);
    CHECK(server.list({"HGETALL", name}) == Words{owner, "1"});
    CHECK(run(rlock_argv("renew", "-r", server.unix_url(), "--owner", owner, "--", name)).status ==
          0);

    const Result busy = run(rlock_argv("exec", "-n", "-r", server.unix_url(), name, "--", "true"));
    CHECK(busy.status == 75);
    CHECK(is_one_message(busy.err));
    CHECK(is_harmless(busy.err));
    const Result text = run(rlock_argv("inspect-queue", "-r", server.unix_url(), "--", name));
    CHECK(text.status == 0);
    CHECK(is_harmless(text.out));
    const Result json =
        run(rlock_argv("inspect-queue", "--json", "-r", server.unix_url(), "--", name));
    CHECK(std::count(json.out.begin(), json.out.end(), '\n') == 1);
    CHECK(is_harmless(json.out));
    // The server's own parser takes it; text that is UTF-8 comes out as it went in.
    const std::string parsed =
        server.command({"EVAL", "return cjson.decode(ARGV[1]).name", "0", json.out});
    if (!has(name, "\xff")) {
      CHECK(parsed == name);
    } else {
      CHECK(parsed == "\\xff\\xfe\\x80 not UTF-8");
    }
    CHECK(run(rlock_argv("unlock", "-r", server.unix_url(), "--owner", owner, "--", name)).status ==
          0);
    CHECK(server.keys().empty());
  }
}

TEST_CASE("a release says \"0\" on Redisson's channel") {
  Server server;
  for (const std::string& name : k_names) {
    CAPTURE(name);
    RespClient listener = server.connect();
    const std::string channel = with_prefix("redisson_lock__channel", name);
    listener.call({"SUBSCRIBE", channel});
    REQUIRE(run(rlock_argv("exec", "-r", server.unix_url(), name, "--", "true")).status == 0);
    // The next message stands in front of the reply to the next command.
    CHECK(listener.call({"PING"}) == Words{"message", channel, "0"});
  }
}

TEST_CASE("a command gets the name as it is, and re-enters it") {
  Server server;
  for (const std::string& name : k_names) {
    CAPTURE(name);
    const Result result = run(
        rlock_argv("exec", "-r", server.unix_url(), name, "--", "sh", "-c",
                   "printf '%s|' \"$RLOCK_NAME\"; exec \"$0\" exec -n -r \"$1\" \"$RLOCK_NAME\" -- "
                   "redis-cli -s \"$2\" hvals \"$RLOCK_NAME\"",
                   rlock_program(), server.unix_url(), server.unix_path()));
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.out == name + "|2\n");
    CHECK(server.keys().empty());
  }
}

TEST_CASE("names that begin with a dash stand behind --") {
  Server server;
  CHECK(run(rlock_argv("acquire", "--no-watchdog", "-r", server.unix_url(), "--", "-x")).status ==
        0);
  CHECK(server.command({"EXISTS", "-x"}) == "1");
}

TEST_CASE("a name of no byte or of more than 1024 is refused with status 64") {
  Server server;
  for (const std::string& name : {std::string(), std::string(1025, 'n')}) {
    for (const Words& words :
         {Words{"exec", name, "--", "true"}, Words{"exec", "good", name, "--", "true"},
          Words{"acquire", "--no-watchdog", name}, Words{"renew", "--owner", "u:1", name},
          Words{"unlock", "--owner", "u:1", name}, Words{"unlock", "--force", "-y", name},
          Words{"evict", name, "u:1"}, Words{"inspect-queue", name}, Words{"watch", name}}) {
      CAPTURE(words[0]);
      Words argv = rlock_argv("-r", server.unix_url(), words);
      const Result result = run(argv);
      CAPTURE(result.err);
      CHECK(result.status == 64);
      CHECK(is_one_message(result.err));
      CHECK(result.err.size() < 200);
    }
  }
  CHECK(server.keys().empty());
}
