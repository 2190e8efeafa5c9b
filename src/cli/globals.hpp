// The options that every command has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "redis/client.hpp"

namespace CLI {
class App;
}

namespace rlock::cli {

struct Globals {
  std::vector<std::string> redis;
  std::optional<std::string> timeout;
  std::optional<std::string> user;
  std::optional<std::string> password_file;
  std::optional<std::string> config;
  std::optional<std::string> color;
  bool json = false;
  bool quiet = false;
  bool verbose = false;

  // Adds the options to `app`; they fill this object, which must outlive the parse.
  void add_to(CLI::App& app);

  // Returns how to reach the server, from flags, environment and files, in this order.
  // Throws Error (usage, config).
  [[nodiscard]] redis::ClientOptions client_options() const;
};

// Parses the duration that was given to `option`. Throws Error (usage) that says how it should
// look.
[[nodiscard]] Milliseconds parse_duration_option(const std::string& option,
                                                 const std::string& text);

}  // namespace rlock::cli
