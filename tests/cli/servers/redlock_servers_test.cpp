// Redlock: what is told of servers that take no part, and of those that cannot be a quorum.
// Labels: long unsanitized
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/fair_lock.hpp"
#include "support/foreign_owner.hpp"
#include "support/process.hpp"
#include "support/quorum.hpp"
#include "support/wait_until.hpp"
#include "support/waiters.hpp"
#include "support/words.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

namespace {

Words of_servers(const Words& urls, const Words& args, const std::string& command = "exec") {
  Words argv = rlock_argv(command);
  for (const std::string& url : urls) argv.insert(argv.end(), {"-r", url});
  argv.insert(argv.end(), args.begin(), args.end());
  return argv;
}

// A server that wants a password, in a quorum whose other servers `Quorum` has.
struct Locked {
  Server server{{.args = {"--requirepass", "sesame"}}};
  Quorum others{2};

  [[nodiscard]] Words exec(const Words& args) {
    return of_servers({others.proxy(0).url(), server.tcp_url(), others.proxy(1).url()}, args);
  }
};

}  // namespace

TEST_CASE("Redlock: a server that wants another password is told of, once, unless -q") {
  Locked quorum;
  // Whether its answer comes before the run has ended is a matter of luck.
  Result result;
  CHECK(wait_until([&] {
    result = run(quorum.exec({"job", "--", "true"}));
    return !result.err.empty();
  }));
  CHECK(result.status == 0);
  CHECK(has(result.err, "server 2 takes no part: "));
  CHECK(has(result.err, "NOAUTH"));
  CHECK(is_one_message(result.err));
  CHECK(run(quorum.exec({"-q", "job", "--", "true"})).err.empty());
}

TEST_CASE("Redlock: a server whose answer does not name it is told of with its URL") {
  Quorum quorum(3);
  quorum[1].command({"SET", "job", "a string"});
  Result result;
  CHECK(wait_until([&] {
    result = run(quorum.rlock("exec", {"job", "--", "true"}));
    return !result.err.empty();
  }));
  CHECK(result.status == 0);
  CHECK(has(result.err, "server 2 (" + quorum.proxy(1).url() + ") takes no part: job: "));
}

TEST_CASE("Redlock: what the take and the renewals are refused by is told once") {
  Locked quorum;
  Process holder(quorum.exec({"--lease", "9s", "job", "--", "sh", "-c", "echo in; read x; true"}),
                 {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("in");
  const auto before = quorum.others.proxy(0).requests();
  CHECK(wait_until([&] { return quorum.others.proxy(0).requests() >= before + 3; }));
  holder.close_stdin();
  const Result result = holder.wait();
  CHECK(result.status == 0);
  CHECK(has(result.err, "server 2 takes no part: "));
  CHECK(is_one_message(result.err));
}

TEST_CASE("Redlock: who waits is told of a server that is of no use while he waits") {
  Locked quorum;
  Process holder(quorum.exec({"-q", "job", "--", "sh", "-c", "echo in; read x; true"}),
                 {.stdin_text = "", .hold_stdin = true});
  holder.wait_for_stdout("in");
  Process waiter(quorum.exec({"job", "--", "true"}));
  waiter.wait_for_stderr("server 2 takes no part: ");
  holder.close_stdin();
  CHECK(holder.wait().status == 0);
  const Result result = waiter.wait();
  CHECK(result.status == 0);
  CHECK(is_one_message(result.err));
}

TEST_CASE("Redlock: a server that TLS is set up wrongly for is told of") {
  Quorum quorum(3);
  std::string tls = quorum.proxy(1).url();
  tls.replace(0, tls.find(':'), "rediss");
  Result result;
  CHECK(wait_until([&] {
    result = run(of_servers({quorum.proxy(0).url(), tls, quorum.proxy(2).url()},
                            {"--tls-ca", "/nonexistent/ca.pem", "job", "--", "true"}));
    return !result.err.empty();
  }));
  CHECK(result.status == 0);
  CHECK(has(result.err, "server 2 (" + tls + ") takes no part: "));
  CHECK(is_one_message(result.err));
}

TEST_CASE("Redlock: a server that is down is told of with -v only") {
  Quorum quorum(3);
  quorum[1].stop();
  const Words urls = {quorum[0].tcp_url(), quorum[1].tcp_url(), quorum[2].tcp_url()};
  CHECK(run(of_servers(urls, {"job", "--", "true"})).err.empty());
  Result result;
  CHECK(wait_until([&] {
    result = run(of_servers(urls, {"-v", "job", "--", "true"}));
    return !result.err.empty();
  }));
  CHECK(result.status == 0);
  CHECK(has(result.err, "server 2 takes no part: "));
  CHECK(has(result.err, urls[1]));
  CHECK(is_one_message(result.err));
}

TEST_CASE("Redlock: without a majority, why the servers fail is told in one line") {
  Locked quorum;
  quorum.others[0].stop();
  for (const char* option : {"-n", "-v"}) {
    const Result result = run(quorum.exec({option, "--timeout", "5s", "job", "--", "true"}));
    CHECK(result.status == 69);
    CHECK(has(result.err, "too few of the 3 servers answered, 2 are needed"));
    CHECK(has(result.err, "NOAUTH"));
    CHECK(is_one_message(result.err));
  }
}

TEST_CASE("Redlock: without a majority, why a nested run cannot enter is told") {
  Quorum quorum(3);
  const std::string inner = quoted(quorum.rlock("exec", {"--timeout", "3s", "job", "--", "true"}));
  Process outer(quorum.rlock("exec", {"--lease", "5m", "job", "--", "sh", "-c",
                                      "echo in; read x; " + inner + "2>&1; echo status $?"}),
                {.hold_stdin = true});
  outer.wait_for_stdout("in");
  for (const int i : {0, 1}) quorum[i].stop();
  outer.close_stdin();
  const Result result = outer.wait();
  CHECK(has(result.out, "2 are needed to re-enter the lock: "));
  CHECK(result.out.ends_with("status 69\n"));
}

TEST_CASE("Redlock: where those that want another password alone block a majority, it is that") {
  Locked quorum;
  quorum.others[0].command({"CONFIG", "SET", "requirepass", "sesame"});
  const Result result = run(quorum.exec({"job", "--", "true"}));
  CHECK(result.status == 77);
  CHECK(has(result.err, "NOAUTH"));
  CHECK(is_one_message(result.err));
}

TEST_CASE("Redlock: who waits survives an outage also where another server refuses him for good") {
  Locked quorum;
  for (int i = 0; i < 2; ++i) hold_by_other(quorum.others[i]);
  Process waiter(quorum.exec({"-v", "job", "--", "echo", "ran"}));
  const std::string channel = "redisson_lock__channel:{job}";
  for (int i = 0; i < 2; ++i) {
    CHECK(comes_to_wait(quorum.others[i]));
  }
  quorum.others[0].stop();
  quorum.others[1].command({"PUBLISH", channel, "0"});
  waiter.wait_for_stderr("too few of the 3 servers answered");
  CHECK(waiter.running());
  quorum.others[0].start();
  for (int i = 0; i < 2; ++i) quorum.others[i].command({"DEL", "job"});
  const Result result = waiter.wait();
  CHECK(result.status == 0);
  CHECK(result.out == "ran\n");
}

TEST_CASE("Redlock: a lock that is gone before its token is known is too late, not unanswered") {
  Quorum quorum(2);
  std::atomic<bool> is_over = false;
  std::thread thief([&] {
    RespClient connection = quorum[0].connect();
    while (!is_over) connection.call({"DEL", "job"});
  });
  Result result;
  CHECK(wait_until([&] {
    result = run(quorum.rlock("exec", {"-q", "--fence", "job", "--", "true"}));
    return result.status == 69;
  }));
  is_over = true;
  thief.join();
  CHECK(has(result.err, "job: too late: "));
  CHECK(has(result.err, "2 of the 2 servers knew its fencing token"));
  CHECK(is_one_message(result.err));
}

TEST_CASE("Redlock: why a token cannot be made known is told") {
  Quorum quorum(3);
  for (int i = 0; i < 2; ++i) quorum[i].command({"ACL", "SETUSER", "default", "-set"});
  const Result result = run(quorum.rlock("exec", {"--fence", "job", "--", "true"}));
  CHECK(result.status == 77);
  CHECK(has(result.err, "this user is not allowed to run "));
  CHECK(is_one_message(result.err));
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: a socket by two names is refused in any order, by every command") {
  Quorum quorum(2);
  const std::string link = quorum[0].directory() + "/link.sock";
  std::filesystem::create_symlink(quorum[0].unix_path(), link);
  Words urls = {quorum[0].unix_url(), "unix://" + link, quorum[1].unix_url()};
  std::sort(urls.begin(), urls.end());
  do {
    for (const Words& words :
         {Words{"exec", "job", "--", "true"}, Words{"acquire", "job"}, Words{"fence", "job", "1"},
          Words{"renew", "--owner", "x", "job"}, Words{"unlock", "--owner", "x", "job"}}) {
      const Result result = run(of_servers(urls, {words.begin() + 1, words.end()}, words[0]));
      CHECK(result.status == 64);
      CHECK(has(result.err, "is the same server as"));
      CHECK(is_one_message(result.err));
    }
  } while (std::next_permutation(urls.begin(), urls.end()));
  CHECK(quorum.having("job") == 0);
}

TEST_CASE("Redlock: a server by two addresses of this machine is refused in any order") {
  Quorum quorum(2);
  const std::string port = std::to_string(quorum[0].port());
  for (const std::string& alias : {quorum[0].unix_url(), "redis://localhost:" + port}) {
    CAPTURE(alias);
    Words urls = {quorum[0].tcp_url(), alias, quorum[1].tcp_url()};
    std::sort(urls.begin(), urls.end());
    do {
      Result result;
      // On a busy machine one answer may come too late after the other.
      CHECK(wait_until([&] {
        result = run(of_servers(urls, {"job", "--", "true"}));
        return result.status == 64;
      }));
      CHECK(has(result.err, " are one and the same"));
      CHECK(is_one_message(result.err));
    } while (std::next_permutation(urls.begin(), urls.end()));
  }
  CHECK(quorum.becomes_free_of("job"));
}

TEST_CASE("Redlock: a token is not accepted by one server that is named twice, nor refused") {
  Quorum quorum(2);
  const std::string counter = "redisson_lock_token:{job}";
  Words urls = {quorum[0].tcp_url(), quorum[0].unix_url(), quorum[1].tcp_url()};
  std::sort(urls.begin(), urls.end());
  do {
    for (const auto& [twice, once] : {std::pair("4", "9"), std::pair("9", "4")}) {
      quorum[0].command({"SET", counter, twice});
      quorum[1].command({"SET", counter, once});
      const Result result = run(of_servers(urls, {"job", "5"}, "fence"));
      CHECK(result.status == 64);
      CHECK(has(result.err, " are one and the same"));
      CHECK(is_one_message(result.err));
    }
  } while (std::next_permutation(urls.begin(), urls.end()));
}

TEST_CASE("Redlock: one server that is named twice is no majority for a renewal, nor against it") {
  Quorum quorum(2);
  Words urls = {quorum[0].tcp_url(), quorum[0].unix_url(), quorum[1].tcp_url()};
  std::sort(urls.begin(), urls.end());
  do {
    for (int holder = 0; holder < 2; ++holder) {
      quorum[holder].command({"HSET", "job", k_foreign_owner, "1"});
      quorum[1 - holder].command({"DEL", "job"});
      const Result result = run(of_servers(urls, {"--owner", k_foreign_owner, "job"}, "renew"));
      CHECK(result.status == 64);
      CHECK(has(result.err, " are one and the same"));
      CHECK(is_one_message(result.err));
    }
  } while (std::next_permutation(urls.begin(), urls.end()));
}

TEST_CASE("Redlock: that two servers are one is told also when the answer comes late") {
  Quorum quorum(2);
  Proxy alias(quorum[0].port());
  const auto exec = [&](const Words& args) {
    return of_servers({quorum.proxy(0).url(), quorum.proxy(1).url(), alias.url()}, args);
  };
  static_cast<void>(run(exec({"job", "--", "true"})));  // from now on the script is known
  constexpr std::size_t k_longer_than_ok = 40;
  Result result;
  // Whether it is understood before the run has ended is a matter of luck.
  CHECK(wait_until([&] {
    alias.set_mode(Mode::blackhole);
    const std::size_t before = alias.bytes_to_client();
    Process holder(exec({"job", "--", "sh", "-c", "echo in; read x; true"}),
                   {.stdin_text = "", .hold_stdin = true});
    holder.wait_for_stdout("in");
    alias.set_mode(Mode::pass);
    CHECK(wait_until([&] { return alias.bytes_to_client() > before + k_longer_than_ok; }));
    holder.close_stdin();
    result = holder.wait();
    return has(result.err, "one and the same");  // a busy machine may have other words first
  }));
  CHECK(result.status == 0);
  CHECK(has(result.err, "server 1 and server 3 are one and the same"));
  CHECK(is_one_message(result.err));
  CHECK(quorum.becomes_free_of("job"));
}
