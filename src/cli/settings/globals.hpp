// The options that every command has.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lock/servers/session.hpp"

namespace CLI {
class App;
}

namespace rlock::cli {

class Settings;

struct Globals {
  std::vector<std::string> redis;
  std::optional<std::string> timeout;
  std::optional<std::string> user;
  std::optional<std::string> password_file;
  std::optional<std::string> tls_ca;
  std::optional<std::string> tls_cert;
  std::optional<std::string> tls_key;
  std::optional<std::string> config;
  std::optional<std::string> color;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::shared_ptr<lock::Absentees> absentees = std::make_shared<lock::Absentees>();

  // What session_options has found. A file may be a pipe: it is read once.
  struct Known {
    std::shared_ptr<const Settings> settings;
    std::vector<redis::Endpoint> servers;
  };
  std::shared_ptr<Known> known = std::make_shared<Known>();

  // Adds the options to `app`; they fill this object, which must outlive the parse.
  void add_to(CLI::App& app);

  // Returns how to reach the servers, from flags, environment and files, in this order.
  // Throws Error (usage, config).
  [[nodiscard]] lock::SessionOptions session_options() const;
  [[nodiscard]] lock::SessionOptions session_options(const Settings& settings) const;

  // Returns how to reach each of the servers, for a command that looks at one after the other.
  // `reply_limit`: as in redis::ClientOptions. Throws as session_options.
  [[nodiscard]] std::vector<redis::ClientOptions> clients_options(
      std::size_t reply_limit = redis::k_small_reply) const;

  // Returns the same for `command`, which looks at one server. Throws Error (usage) if there are
  // several, also where a file names them: -r on the command line chooses one.
  [[nodiscard]] redis::ClientOptions client_options(
      const std::string& command, std::size_t reply_limit = redis::k_small_reply) const;

  // Returns what is to be said of servers of a quorum that take no part in it, a line each, and
  // none twice: nothing with -q; with -v also of those that are down.
  [[nodiscard]] std::vector<std::string> news_of_absentees() const;
};

// Parses the duration that was given to `option`. Throws Error (usage) that says how it should
// look.
[[nodiscard]] Milliseconds parse_duration_option(const std::string& option,
                                                 const std::string& text);

}  // namespace rlock::cli
