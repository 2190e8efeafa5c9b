// Several independent servers that keep a lock together.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/proxy.hpp"
#include "support/server.hpp"
#include "support/wait_until.hpp"

namespace rlock::test {

enum class Memory { kept, lost };  // of a server that is killed and started again

// `count` servers, each behind a proxy. By default they write each change to the disk at once, so
// that they have a vote from the start.
class Quorum {
 public:
  explicit Quorum(int count, Memory memory = Memory::kept) {
    for (int i = 0; i < count; ++i) {
      ServerOptions options;
      if (memory == Memory::kept) options.args = {"--appendonly", "yes", "--appendfsync", "always"};
      servers_.emplace_back(options);
      proxies_.emplace_back(servers_.back().port());
    }
  }

  [[nodiscard]] int size() const { return static_cast<int>(servers_.size()); }
  [[nodiscard]] Server& operator[](int i) { return servers_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Proxy& proxy(int i) { return proxies_[static_cast<std::size_t>(i)]; }

  // Returns the command line `rlock COMMAND -r ... -r ... ARGS`, through the proxies.
  [[nodiscard]] std::vector<std::string> rlock(const std::string& command,
                                               const std::vector<std::string>& args) const {
    std::vector<std::string> argv = rlock_argv(command);
    for (const Proxy& proxy : proxies_) argv.insert(argv.end(), {"-r", proxy.url()});
    argv.insert(argv.end(), args.begin(), args.end());
    return argv;
  }

  // Returns how many of those that run have the key.
  [[nodiscard]] int having(const std::string& key) const {
    int count = 0;
    for (const Server& server : servers_) {
      if (server.pid() >= 0 && server.command({"EXISTS", key}) == "1") ++count;
    }
    return count;
  }

  // Returns shell text that waits until redis-cli prints `answer` for `command` on so many servers.
  // A majority is enough for a command to begin: a server that is busy may follow a moment later.
  [[nodiscard]] std::string await(int servers, const std::string& command,
                                  const std::string& answer) const {
    return "until [ \"$(" + ask_each(command) + " | grep -cxe \"" + answer + "\")\" -ge " +
           std::to_string(servers) + " ]; do sleep 0.1; done; ";
  }

  // Returns shell text that prints what each server answers.
  [[nodiscard]] std::string ask_each(const std::string& command) const {
    std::string paths;
    for (const Server& server : servers_) paths += " " + server.unix_path();
    return "for s in" + paths + "; do redis-cli -s $s " + command + "; done";
  }

  // Returns whether they all come to have the key no longer. A majority that has released a lock is
  // enough for rlock to end: a server that is busy may do so a moment later.
  [[nodiscard]] bool becomes_free_of(const std::string& key) const {
    return wait_until([&] { return having(key) == 0; });
  }

  // Returns whether nothing comes to be left on them. A server that answers after the majority may
  // keep the latch of a release for as long as it can be sent again: with the default `--timeout`,
  // 130 s.
  [[nodiscard]] bool become_empty() const {
    return wait_until([&] {
      for (const Server& server : servers_) {
        for (const std::string& key : server.keys()) {
          if (!is_ending_latch(server, key)) return false;
        }
      }
      return true;
    });
  }

 private:
  static bool is_ending_latch(const Server& server, const std::string& key) {
    if (key.rfind("redisson_unlock_latch:", 0) != 0) return false;
    const int left = std::stoi(server.command({"PTTL", key}));
    return left == -2 || (left >= 0 && left <= 130'000);
  }

  std::deque<Server> servers_;
  std::deque<Proxy> proxies_;
};

}  // namespace rlock::test
