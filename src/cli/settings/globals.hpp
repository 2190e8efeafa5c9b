// The global options, which every command has.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.hpp"
#include "lock/servers/session.hpp"

namespace rlock::cli {

class OptionSet;
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
  std::shared_ptr<lock::UnreachableServers> unreachable =
      std::make_shared<lock::UnreachableServers>();

  // What is read, found or told once: a file may be a pipe.
  struct Known {
    std::shared_ptr<const Settings> settings;
    std::vector<redis::Endpoint> servers;  // of session_options
    bool has_told_timeout = false;         // that it is no bound on a wait
  };
  std::shared_ptr<Known> known = std::make_shared<Known>();

  void add_to(OptionSet options);

  // Returns these options as files and the environment add to them. Throws Error (config).
  [[nodiscard]] const Settings& settings() const;

  // Returns how to reach the servers. Tells the default server once where none is configured,
  // unless -q. Throws Error (usage, config).
  [[nodiscard]] lock::SessionOptions session_options() const;

  // Returns how long to try to reach a server that is away: `flag`, the --wait-server of a command,
  // or what a file says. Throws Error (usage, config).
  [[nodiscard]] Milliseconds server_wait(const std::optional<std::string>& flag = {}) const;

  // Returns how to reach each server, for a command that looks at one server after the other. What
  // such a command asks for may be large. Throws as session_options.
  [[nodiscard]] std::vector<redis::ClientOptions> clients_options() const;

  // Returns how to reach the server, for a `command` that looks at one server only. Throws Error
  // (usage) if several are configured, even in a file. The user then chooses one with -r.
  [[nodiscard]] redis::ClientOptions client_options(const std::string& command) const;
};

// An option that configuration files can set, too: a global one, or one of some commands.
struct KnownSetting {
  std::string_view name;
  const char* variable;                       // nullptr: none has its value
  std::optional<std::string> Globals::*flag;  // nullptr: `redis`, or no global option
  const char* fallback;
};

inline constexpr std::array k_known_settings = {
    KnownSetting{"redis", "RLOCK_REDIS", nullptr, "redis://127.0.0.1:6379"},
    KnownSetting{"timeout", "RLOCK_TIMEOUT", &Globals::timeout, "3s"},
    KnownSetting{"wait-server", nullptr, nullptr, "0s"},
    KnownSetting{"user", "RLOCK_USER", &Globals::user, ""},
    KnownSetting{"password-file", nullptr, &Globals::password_file, ""},
    KnownSetting{"tls-ca", "RLOCK_TLS_CA", &Globals::tls_ca, ""},
    KnownSetting{"tls-cert", "RLOCK_TLS_CERT", &Globals::tls_cert, ""},
    KnownSetting{"tls-key", "RLOCK_TLS_KEY", &Globals::tls_key, ""},
    KnownSetting{"color", nullptr, &Globals::color, "auto"},
};

// Parses the duration given to `option`. Throws Error (`blame`) that names the accepted forms.
[[nodiscard]] Milliseconds parse_duration_option(const std::string& option, const std::string& text,
                                                 ExitStatus blame = ExitStatus::usage);

// Returns the name of this process in CLIENT LIST, which tells its host and process ID: printable
// ASCII.
[[nodiscard]] std::string client_name();

}  // namespace rlock::cli
