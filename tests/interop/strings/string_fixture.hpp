// What the tests with string peers have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "string_peer.hpp"
#include "support/process.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"

namespace rlock::test {

// A server, a peer, and rlock.
struct StringFixture {
  Server server;
  StringPeer peer{server.tcp_url()};

  [[nodiscard]] std::vector<std::string> argv(std::vector<std::string> words) const {
    const auto program = rlock_argv("-r", server.unix_url());
    words.insert(words.begin(), program.begin(), program.end());
    return words;
  }
  [[nodiscard]] Result invoke(const std::vector<std::string>& words) const {
    return run(argv(words));
  }
  // rlock takes the lock without waiting and gives it back. Returns its exit status.
  [[nodiscard]] int try_once() const {
    return invoke({"exec", "-n", "-q", "--kind", "simple", "job", "--", "true"}).status;
  }
  // Starts an rlock that takes the lock, writes "ready", and holds the lock until its stdin ends.
  [[nodiscard]] std::unique_ptr<Process> start(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"exec", "--kind", "simple"});
    options.insert(options.end(), {"job", "--", "sh", "-c", "echo ready; cat >/dev/null"});
    return std::make_unique<Process>(argv(options), ProcessOptions{.hold_stdin = true});
  }
  // The same, and waits until it sleeps because the lock is held by somebody else.
  [[nodiscard]] std::unique_ptr<Process> start_waiter() const {
    auto waiter = start();
    const auto waits = [&] {
      return server.command({"PUBSUB", "NUMSUB", "redisson_lock__channel:{job}"}).ends_with("\n1");
    };
    if (!wait_until(waits)) waiter->wait_for_stdout("it does not wait");
    return waiter;
  }
  [[nodiscard]] std::string value() const { return server.command({"GET", "job"}); }
  [[nodiscard]] long ttl() const { return pttl(server); }
  [[nodiscard]] bool is_clean() const { return comes_to_be_empty(server); }
};

}  // namespace rlock::test
