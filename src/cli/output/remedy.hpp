// The commands that are shown to mend something. Each acts on the server that was looked at,
// whatever the shell's environment is where somebody pastes it, and none shows a password.
#pragma once

#include <cstdint>
#include <string>

#include "cli/settings/globals.hpp"
#include "redis/client.hpp"

namespace rlock::cli {

// What to do about a problem. A command is there to be pasted, so it stays one line.
struct Hint {
  enum class Kind { advice, command };
  Kind kind = Kind::advice;
  std::string text{};  // empty: nothing can be done
};

// Makes the commands for one server. To be used after globals.session_options().
class Remedies {
 public:
  // `server`: what rlock was told to look at. `node`: the client of the same, or of the single
  // server of it that redis-cli is to talk to. All must outlive this object.
  Remedies(const Globals& globals, const redis::Endpoint& server, redis::Client& node)
      : globals_(globals), server_(server), node_(node) {}
  Remedies(const Globals& globals, redis::Client& client)
      : Remedies(globals, client.options().endpoint, client) {}

  [[nodiscard]] const redis::Endpoint& server() const { return server_; }

  // Returns the command "rlock WORDS" with the options that lead to the server, and "# COMMENT"
  // after it. `words` must be quoted for a shell.
  [[nodiscard]] Hint rlock(const std::string& words, const std::string& comment = "") const;
  // The same for another server, at that host and port, that is asked as the node is.
  [[nodiscard]] Hint rlock_at(const std::string& host, std::uint16_t port, const std::string& words,
                              const std::string& comment = "") const;
  // The same for another database of the server.
  [[nodiscard]] Hint rlock_in(int database, const std::string& words) const;
  // The same for "redis-cli WORDS". Throws as redis::Client::find_masters, which may ask sentinels,
  // and as redis::local_socket.
  [[nodiscard]] Hint redis_cli(const std::string& words, const std::string& comment = "") const;
  // The same for another server, as rlock_at.
  [[nodiscard]] Hint redis_cli_at(const std::string& host, std::uint16_t port,
                                  const std::string& words, const std::string& comment = "") const;
  // The same for what only an administrator may do.
  [[nodiscard]] Hint as_administrator(const std::string& words,
                                      const std::string& comment = "") const;
  // Returns the name of the server's user, quoted for a shell.
  [[nodiscard]] std::string user() const;

 private:
  [[nodiscard]] redis::Endpoint at(const std::string& host, std::uint16_t port) const;

  const Globals& globals_;
  const redis::Endpoint& server_;
  redis::Client& node_;
};

// Returns the command "rlock WORDS" with the options that lead to all the servers of this run, or
// why there is none.
[[nodiscard]] std::string rlock_for_all(const std::string& words, const Globals& globals);

// The same for the server of this run whose URL is shown as `server`, or else for the first.
[[nodiscard]] std::string rlock_for_one(const std::string& words, const Globals& globals,
                                        const std::string& server);

}  // namespace rlock::cli
