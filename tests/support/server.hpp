// A throw-away redis-server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "resp.hpp"
#include "spawn.hpp"

namespace rlock::test {

struct ServerOptions {
  std::vector<std::string> args{};  // behind the defaults: {"--requirepass", "x"}
  std::string config{};  // when not empty: written to redis.conf, given as first argument
  std::string user{};    // how command() logs in; password defaults to that of --requirepass
  std::string password{};
};

// A redis-server (program: environment RLOCK_TEST_SERVER, else redis-server in PATH) in a fresh
// directory (mode 0700) on a Unix socket and on a TCP port of 127.0.0.1 and, if there, ::1. It
// saves nothing unless args say so, and dies with the thread that started it. The destructor ends
// it and removes the directory.
class Server {
 public:
  // Waits until the server answers. Throws std::runtime_error with its log when it does not (20 s).
  explicit Server(ServerOptions options = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  [[nodiscard]] std::string unix_path() const { return directory_ + "/redis.sock"; }
  [[nodiscard]] std::string unix_url() const { return "unix://" + unix_path(); }
  [[nodiscard]] std::string tcp_url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  // The pid of the server; -1 when it is stopped.
  [[nodiscard]] pid_t pid() const { return child_ ? child_->pid() : -1; }
  // What the server has logged.
  [[nodiscard]] std::string log() const;

  // Kills it (SIGKILL) and waits for its end. Nothing when it is stopped already.
  void stop();
  // Starts it again: same directory, socket and port. Throws as the constructor does.
  void start();
  // Freezes it (SIGSTOP; returns when it stands still), and lets it go on.
  void pause();
  void resume();

  // A new connection to the Unix socket, logged in. Throws std::runtime_error when the server does
  // not let it in.
  [[nodiscard]] RespClient connect() const;

  // Sends one command on a new connection. Returns the reply as text: strings as
  // they are, integers in decimal, "(nil)", "(error) ...", the elements of arrays (flattened)
  // joined with '\n'. Throws std::runtime_error when there is no answer within 10 s.
  std::string command(const std::vector<std::string>& args) const;
  // The same, with the elements apart.
  std::vector<std::string> list(const std::vector<std::string>& args) const;
  // Waits until a replica has all that was written so far. Returns false when it does not come.
  [[nodiscard]] bool is_replicated() const;
  // All keys of database 0 (KEYS *), sorted.
  [[nodiscard]] std::vector<std::string> keys() const;

 private:
  void launch();
  bool answers();
  void remove_directory();
  [[nodiscard]] std::vector<std::string> arguments() const;

  ServerOptions options_;
  std::string directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Child> child_;
};

// Returns the TTL of `key` in milliseconds, -1 without an expiry, -2 without a key.
long pttl(const Server& server, const std::string& key = "job");

// Waits until the server has no key any more. Returns false when one stays.
bool comes_to_be_empty(const Server& server);

}  // namespace rlock::test
