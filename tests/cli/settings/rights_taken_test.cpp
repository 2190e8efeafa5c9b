// A script that fails in the middle is not rolled back: whichever right its user lacks, it leaves
// nothing that never ends.
// Labels: long unsanitized
#include <array>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/contents.hpp"
#include "support/fair_lock.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/quorum.hpp"
#include "support/resp.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// Returns each word in quotes of the scripts: whatever command they run is among them.
std::set<std::string> quoted_words() {
  std::set<std::string> words;
  const std::string folder = std::string(RLOCK_SOURCE_DIR) + "/lua";
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".lua" || file.path().filename() == "rights.lua") continue;
    std::istringstream parts(contents(file.path()));
    std::string part;
    for (bool is_quoted = false; std::getline(parts, part, '\''); is_quoted = !is_quoted) {
      const bool is_word = !part.empty() && part.find_first_not_of("abcdefghijklmnopqrstuvwxyz") ==
                                                std::string::npos;
      if (is_word) words.insert(part);
    }
  }
  return words;
}

// Makes a user for each command of the scripts, who may do everything else. Returns the commands.
Words make_users(const Server& server) {
  Words commands;
  for (const std::string& word : quoted_words()) {
    const std::string reply =
        server.command({"ACL", "SETUSER", word, "on", ">p", "~*", "&*", "+@all", "-" + word});
    if (reply == "OK") {
      commands.push_back(word);
    } else {
      server.command({"ACL", "DELUSER", word});
    }
  }
  // Without what could undo it, either.
  for (const std::string word : {"pexpire", "pttl"}) {
    commands.push_back("only-" + word);
    REQUIRE(server.command({"ACL", "SETUSER", commands.back(), "on", ">p", "~*", "&*", "+@all",
                            "-" + word, "-del", "-hdel", "-zrem", "-lrem"}) == "OK");
  }
  return commands;
}

// Makes users who may run each command, but not on one sort of keys of the lock "job".
Words make_users_of_keys(const Server& server) {
  const std::vector<Words> patterns{{"~redisson_lock_queue:*"},
                                    {"~redisson_lock_timeout:*"},
                                    {"~redisson_unlock_latch:*"},
                                    {"~redisson_lock_token:*"},
                                    {"~rlock_info:*"},
                                    {"~{job}:timeout"},
                                    {"~{job}:*:rwlock_timeout:*"}};
  Words users;
  for (std::size_t without = 0; without < patterns.size(); ++without) {
    users.push_back("without" + std::to_string(without));
    Words words{"ACL", "SETUSER", users.back(), "on", ">p", "&*", "+@all", "~job"};
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (i != without) words.push_back(patterns[i][0]);
    }
    REQUIRE(server.command(words) == "OK");
  }
  return users;
}

std::set<std::string> endless_keys(const Server& server) {
  const auto keys = server.list(
      {"EVAL",
       "local found = {} for _, key in ipairs(redis.call('keys', '*')) do "
       "if redis.call('pttl', key) == -1 then found[#found + 1] = key end end return found",
       "0"});
  return {keys.begin(), keys.end()};
}

// What a user does one after the other, with what is there before, and the keys that may stay for
// ever.
struct Story {
  std::vector<Words> before{};
  std::vector<Words> steps{};
  std::set<std::string> may_stay{};
};

const Words k_by_other_hash{"HSET", "job", "other:1", "1"};
const Words k_by_other_ends{"PEXPIRE", "job", "600000"};

std::vector<Story> stories() {
  const std::string token = "redisson_lock_token:{job}";
  std::vector<Story> all;
  const std::vector<Words> kinds{{},     {"--fair"},           {"-s"},
                                 {"-x"}, {"--kind", "simple"}, {"--permits", "2"}};
  const auto exec = [](Words options, const Words& kind, const Words& command) {
    Words words{"exec", "-n", "--lease", "2s"};
    words.insert(words.end(), kind.begin(), kind.end());
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"job", "--"});
    words.insert(words.end(), command.begin(), command.end());
    return words;
  };
  for (const Words& kind : kinds) {
    const bool fences = kind != Words{"-s"} && kind != Words{"--permits", "2"};
    Words nested{rlock_program(), "exec", "-n", "--lease", "3s"};
    nested.insert(nested.end(), kind.begin(), kind.end());
    nested.insert(nested.end(), {"job", "--", "true"});
    all.push_back({{}, {exec({}, kind, {"true"})}});
    all.push_back({{}, {exec({"--at-least", "1s"}, kind, {"true"}), exec({}, kind, {"true"})}});
    all.push_back({{}, {exec({}, kind, nested)}});
    all.push_back({{}, {exec({"--no-info"}, kind, nested)}});
    Words take{"acquire", "-n", "--no-watchdog", "--lease", "2s"};
    take.insert(take.end(), kind.begin(), kind.end());
    if (fences) {
      nested.insert(nested.begin() + 2, "--fence");
      all.push_back({{}, {exec({"--fence"}, kind, nested)}, {token}});
      take.push_back("--fence");
    }
    take.push_back("job");
    all.push_back({{},
                   {take,
                    {"renew", "--owner", "OWNER", "--lease", "5s", "job"},
                    {"unlock", "--owner", "OWNER", "job"}},
                   {token}});
    all.push_back({{}, {take, {"unlock", "--force", "-y", "job"}}, {token}});
  }
  // Somebody else has it.
  for (const Words& kind : {Words{}, Words{"--fair"}, Words{"--fair", "-w", "20ms"}}) {
    all.push_back({{k_by_other_hash, k_by_other_ends}, {exec({}, kind, {"true"})}});
  }
  all.back().steps[0][1] = "-q";  // it does wait
  // A service's waiter and a service's semaphore, which have no end.
  all.push_back({{k_by_other_hash,
                  k_by_other_ends,
                  {"RPUSH", k_queue, k_foreign_owner},
                  {"ZADD", k_scores, "9999999999999", k_foreign_owner}},
                 {{"exec", "--fair", "-w", "20ms", "job", "--", "true"},
                  {"evict", "job", k_foreign_owner},
                  {"unlock", "--force", "-y", "job"}}});
  all.push_back({{{"SET", "job", "2"}},
                 {exec({}, {"--permits", "2"}, {"true"}),
                  exec({"--at-least", "1s"}, {"--permits", "2"}, {"true"})},
                 {"{job}:timeout"}});
  // Beside a reader, and after readers who are dead.
  all.push_back({{{"HSET", "job", "mode", "read", k_foreign_owner, "1"},
                  k_by_other_ends,
                  {"SET", "{job}:" + k_foreign_owner + ":rwlock_timeout:1", "1", "PX", "600000"}},
                 {exec({}, {"-s"}, {"true"}), exec({"--at-least", "1s"}, {"-s"}, {"true"})}});
  all.push_back({{{"HSET", "job", "mode", "read", k_foreign_owner, "1"}, k_by_other_ends},
                 {exec({}, {"-x"}, {"true"})}});
  return all;
}

std::string shown(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

EnvChanges login(const Server& server, const std::string& user) {
  return {{"RLOCK_REDIS", server.unix_url()}, {"RLOCK_USER", user}, {"RLOCK_PASSWORD", "p"}};
}

void tell(const Server& server, const Story& story, const std::string& user) {
  server.command({"FLUSHALL"});
  for (const Words& command : story.before) server.command(command);
  std::set<std::string> before = endless_keys(server);
  before.insert(story.may_stay.begin(), story.may_stay.end());
  std::string owner = k_foreign_owner;
  for (Words step : story.steps) {
    for (std::string& word : step) {
      if (word == "OWNER") word = owner;
    }
    Words argv = rlock_argv(step);
    const Result result = run(argv, {.env = login(server, user)});
    if (step[0] == "acquire" && result.status == 0) {
      owner = result.out.substr(0, result.out.find('\n'));
    }
    // 79: on a slow machine, a renewal was due that the right is missing for.
    static const std::set<int> k_documented{0, 1, 75, 76, 77, 79};
    const bool is_documented = k_documented.contains(result.status);
    std::set<std::string> left;
    for (const std::string& key : endless_keys(server)) {
      if (!before.contains(key)) left.insert(key);
    }
    if (is_documented && left.empty()) continue;
    CAPTURE(user);
    CAPTURE(shown(step));
    CAPTURE(result.status);
    CAPTURE(result.err);
    CHECK(is_documented);
    CHECK(shown({left.begin(), left.end()}) == "");
  }
  // Whatever is left of rlock's own lock is a lock for who has all rights.
  if (!story.before.empty() || server.command({"EXISTS", "job"}) == "0") return;
  const Result result =
      run(rlock_argv(story.steps[0]), {.env = {{"RLOCK_REDIS", server.unix_url()}}});
  CAPTURE(user);
  CAPTURE(shown(story.steps[0]));
  CAPTURE(result.err);
  CHECK((result.status == 0 || result.status == 75));
}

}  // namespace

TEST_CASE("a user without one of the commands that the scripts use leaves nothing without an end") {
  Server server;
  const Words users = make_users(server);
  REQUIRE(users.size() > 30);
  for (const Story& story : stories()) {
    for (const std::string& user : users) tell(server, story, user);
  }
}

// Others who wait would take it for another kind of lock, and give up, even if it ends at once.
TEST_CASE(
    "a user who may not set an expiry makes no string in place of the lock, not for a moment") {
  Server server;
  make_users(server);
  for (const Words& kind : {Words{}, Words{"-s"}, Words{"-x"}}) {
    server.command({"CONFIG", "RESETSTAT"});
    const Result result =
        run(rlock_argv("exec", "-n", kind, "job", "--", "true"), {.env = login(server, "pexpire")});
    CHECK(result.status == 77);
    const std::string commands = server.command({"INFO", "commandstats"});
    CHECK(has(commands, "cmdstat_hset:"));
    const bool is_reader = kind == Words{"-s"};  // who has a key of its own, which is a string
    CHECK(has(commands, "cmdstat_set:calls=1,") == is_reader);
    CHECK(has(commands, "cmdstat_set:") == is_reader);
    CHECK(server.command({"EXISTS", "job"}) == "0");
  }
}

TEST_CASE("a user without the right to one sort of keys leaves nothing without an end") {
  Server server;
  const Words users = make_users_of_keys(server);
  for (const Story& story : stories()) {
    for (const std::string& user : users) tell(server, story, user);
  }
}

TEST_CASE("a waiter that is killed leaves no queue without an end, whichever right it lacks") {
  Server server;
  Words users = make_users(server);
  const Words others = make_users_of_keys(server);
  users.insert(users.end(), others.begin(), others.end());
  for (const std::string& user : users) {
    server.command({"FLUSHALL"});
    hold_by_other(server);
    Process waiter(rlock_argv("exec", "-q", "--fair", "job", "--", "true"),
                   {.env = login(server, user)});
    REQUIRE(wait_until([&] { return !queue(server).empty() || !waiter.running(); }));
    waiter.signal(SIGKILL);
    waiter.wait_exit();
    CAPTURE(user);
    const std::set<std::string> left = endless_keys(server);
    CHECK(shown({left.begin(), left.end()}) == "");
  }
}

TEST_CASE(
    "no server of several is left with a key without an end, whichever right the user lacks") {
  Quorum quorum(3, Memory::lost);
  Words users;
  std::string urls;
  for (int i = 0; i < 3; ++i) {
    users = make_users(quorum[i]);
    urls += quorum[i].unix_url() + " ";
  }
  const Words nested = rlock_argv("exec", "-n", "--fence", "job", "--", "true");
  for (const Words& options : {Words{}, Words{"--kind", "simple", "--at-least", "100ms"}}) {
    for (const std::string& user : users) {
      Words argv = rlock_argv("exec", "-n", "--fence", "--restart-delay", "0", "--lease", "20s",
                              options, "job", "--", nested);
      const Result result = run(
          argv, {.env = {{"RLOCK_REDIS", urls}, {"RLOCK_USER", user}, {"RLOCK_PASSWORD", "p"}}});
      CAPTURE(user);
      CAPTURE(result.err);
      // 64: without HGET or HSET the inner run finds no token.
      CHECK((result.status == 0 || result.status == 64 || result.status == 77));
      for (int i = 0; i < 3; ++i) {
        // One that was not waited for may still be at it.
        const bool is_left_clean = wait_until([&] {
          std::set<std::string> left = endless_keys(quorum[i]);
          left.erase("redisson_lock_token:{job}");
          return left.empty();
        });
        CHECK(is_left_clean);
        quorum[i].command({"FLUSHALL"});
      }
    }
  }
}

TEST_CASE("a server out of memory grants no lock of any kind, and is left without a key") {
  Server server;
  const std::vector<Words> kinds{{},     {"--fair"},           {"--fair", "--fence"}, {"-s"},
                                 {"-x"}, {"--kind", "simple"}, {"--permits", "2"},    {"--fence"}};
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  for (const Words& kind : kinds) {
    Words argv =
        rlock_argv("exec", "-n", "-r", server.unix_url(), kind, "job", "--", "echo", "ran");
    const Result result = run(argv);
    CAPTURE(shown(kind));
    CHECK(result.status == 69);
    CHECK(result.out == "");
    CHECK(server.keys().empty());
  }
}
