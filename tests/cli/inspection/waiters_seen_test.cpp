// Waiters that have no place in a queue: list, watch and inspect-queue tell how many there are.
#include <csignal>
#include <deque>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/invoke.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// A lock that is held, and others who want it.
class Crowd {
 public:
  Crowd(std::string url, Words kind, int waiters) : url_(std::move(url)), kind_(std::move(kind)) {
    add();
    const bool taken = wait_until([&] {
      return has(invoke({"list", "--json"}).out, "\"held\"") ||
             has(invoke({"inspect-queue", "job"}).out, "held");
    });
    REQUIRE(taken);
    for (int i = 0; i < waiters; ++i) add();
  }

  [[nodiscard]] Result invoke(const Words& words) const { return run(argv_for(url_, words)); }

  // Returns whether in time that many wait, by inspect-queue --json.
  [[nodiscard]] bool are_waiting(int count) const {
    const std::string told = "\"listening\":" + std::to_string(count);
    return wait_until([&] { return has(invoke({"inspect-queue", "--json", "job"}).out, told); });
  }

  // Returns the last column of the line of `rlock list` about the lock.
  [[nodiscard]] std::string listed(const Words& options = {}) const {
    Words words{"list"};
    words.insert(words.end(), options.begin(), options.end());
    std::string out = invoke(words).out;
    out.resize(out.find_last_not_of('\n') + 1);
    return out.substr(out.rfind(' ') + 1);
  }

 private:
  void add() {
    Words words{"exec", "--lease", "10m"};
    words.insert(words.end(), kind_.begin(), kind_.end());
    words.insert(words.end(), {"job", "--", "cat"});
    processes_.emplace_back(argv_for(url_, words), ProcessOptions{.hold_stdin = true});
  }

  std::string url_;
  Words kind_;
  std::deque<Process> processes_;
};

}  // namespace

TEST_CASE("waiters that do not queue are counted, of every kind of lock") {
  Server server;
  Words kind;
  SUBCASE("plain") {}
  SUBCASE("string") { kind = {"--kind", "simple"}; }
  SUBCASE("writers") { kind = {"-x"}; }
  SUBCASE("semaphore") { kind = {"--permits", "1"}; }
  const Crowd crowd(server.unix_url(), kind, 5);
  CHECK(crowd.are_waiting(5));
  const Words simple = kind == Words{"--kind", "simple"} ? Words{"--simple", "job"} : Words{};
  CHECK(crowd.listed(simple) == "5");
  Words json{"list", "--json"};
  json.insert(json.end(), simple.begin(), simple.end());
  CHECK(has(crowd.invoke(json).out, "\"waiter_count\":5"));
  CHECK(has(crowd.invoke(json).out, "\"listening\":5"));
  CHECK(has(crowd.invoke({"inspect-queue", "job"}).out, "\n5 listeners: "));
  // The one who looks listens, too.
  CHECK(has(crowd.invoke({"watch", "--for", "0", "job"}).out, ", 5 waiting\n"));
  CHECK(has(crowd.invoke({"watch", "--for", "0", "--json", "job"}).out, "\"waiter_count\":5"));
}

TEST_CASE("waiters in a queue and others are counted together") {
  Server server;
  const Crowd crowd(server.unix_url(), {"--fair"}, 2);
  CHECK(wait_until([&] { return crowd.listed() == "2"; }));
  Process plain(argv_for(server.unix_url(), {"exec", "job", "--", "true"}));
  CHECK(crowd.are_waiting(1));
  CHECK(wait_until([&] { return crowd.listed() == "3"; }));
}

TEST_CASE("who keeps a lock of rlock acquire does not count as a waiter") {
  Server server;
  Words kind;
  SUBCASE("plain") {}
  SUBCASE("fair") { kind = {"--fair"}; }
  SUBCASE("reader") { kind = {"-s"}; }
  SUBCASE("without information") { kind = {"--no-info"}; }
  const std::string url = server.unix_url();
  Words words{"acquire", "--pid", std::to_string(::getpid())};
  words.insert(words.end(), kind.begin(), kind.end());
  words.emplace_back("job");
  const Result taken = run(argv_for(url, words));
  REQUIRE(taken.status == 0);
  CHECK(are_kept(server));
  CHECK(has(run(argv_for(url, {"list", "--json"})).out, "\"waiter_count\":0"));
  CHECK(has(run(argv_for(url, {"inspect-queue", "--json", "job"})).out, "\"listening\":0"));
  server.command({"DEL", "job"});
}

TEST_CASE("who may not ask who listens is told that nobody knows, not that nobody waits") {
  Server server;
  const Crowd crowd(server.unix_url(), {}, 1);
  REQUIRE(crowd.are_waiting(1));
  server.command({"ACL", "SETUSER", "blind", "on", ">password", "~*", "&*", "+@all", "-pubsub"});
  const std::string url = "redis://blind:password@127.0.0.1:" + std::to_string(server.port());
  const auto look = [&](const Words& words) { return run(argv_for(url, words)).out; };
  CHECK(look({"list"}).ends_with(" -\n"));
  CHECK(has(look({"list", "--json"}), "\"listening\":null"));
  CHECK(has(look({"inspect-queue", "--json", "job"}), "\"listening\":null"));
  CHECK(has(look({"inspect-queue", "job"}), "is not allowed to run PUBSUB"));
  CHECK(has(look({"watch", "--for", "0", "job"}), ", waiters unknown"));
}

TEST_CASE("semaphore: list and watch tell how many permits are free") {
  Server server;
  const Crowd crowd(server.unix_url(), {"--permits", "3"}, 0);
  CHECK(has(crowd.invoke({"list"}).out, "  held, 2 of 3 left  "));
  const std::string json = R"("permits":{"total":3,"available":2})";
  CHECK(has(crowd.invoke({"list", "--json"}).out, json));
  CHECK(has(crowd.invoke({"watch", "--for", "0", "job"}).out, ", 2 of 3 permits available"));
  CHECK(has(crowd.invoke({"watch", "--for", "0", "--json", "job"}).out, json));
}

TEST_CASE("inspect-queue names the rlock processes that listen, and guesses no lock for them") {
  Server server;
  const auto hold_and_wait = [&](const char* name) {
    server.command({"HSET", name, "other:1", "1"});
    server.command({"PEXPIRE", name, "600000"});
    auto waiter =
        std::make_unique<Process>(rlock_argv("exec", "-r", server.unix_url(), name, "--", "true"));
    REQUIRE(comes_to_wait(server, name));
    return waiter;
  };
  const auto waiter = hold_and_wait("job");
  const auto other = hold_and_wait("another");
  RespClient stranger = server.connect();
  stranger.call({"SUBSCRIBE", "news"});
  const auto inspect = [&](const Words& options) {
    return run(rlock_argv("inspect-queue", "-r", server.unix_url(), options, "job")).out;
  };
  const std::string text = inspect({});
  CAPTURE(text);
  CHECK(has(text,
            "1 listener: waiting without a queue, or watching\n"
            "    rlock processes that listen, to this lock or to another: "));
  for (const pid_t pid : {waiter->pid(), other->pid()}) {
    CHECK(has(text, " pid " + std::to_string(pid)));
    CHECK(has(inspect({"--json"}), R"("pid":)" + std::to_string(pid) + "}"));
  }
  CHECK_FALSE(has(inspect({"--json"}), "news"));
  // Without the right, only their number is known.
  server.command({"ACL", "SETUSER", "default", "-client|list"});
  CHECK(has(inspect({}), "1 listener"));
  CHECK_FALSE(has(inspect({}), "rlock processes"));
}

TEST_CASE("a background process of acquire has its own process ID in the list of clients") {
  Server server;
  const Result owner = invoke(server, {"acquire", "--pid", std::to_string(::getpid()), "job"});
  REQUIRE(owner.status == 0);
  Process waiter(argv_for(server, {"exec", "job", "--", "true"}));
  std::vector<pid_t> listening;
  REQUIRE(wait_until([&] {
    listening.clear();
    const std::string out = invoke(server, {"inspect-queue", "--json", "job"}).out;
    const std::string key = "\"pid\":";
    std::size_t at = out.find("listening_clients");
    while ((at = out.find(key, at)) != std::string::npos) {
      at += key.size();
      listening.push_back(std::stoi(out.substr(at)));
    }
    return listening.size() == 2;
  }));
  for (const pid_t pid : listening) CHECK(::kill(pid, 0) == 0);
  CHECK(invoke(server, {"unlock", "--owner", owner.out.substr(0, owner.out.find('\n')), "job"})
            .status == 0);
  CHECK(waiter.wait().status == 0);
}
