// Settings from configuration files (TOML): defaults for the global options.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/settings/setting.hpp"

namespace rlock::cli {

struct Config {
  std::map<std::string, Setting> settings;  // by their names
  std::vector<std::string> read;            // the files that were read, in this order
  std::vector<std::string> missing;         // the default files that do not exist
  std::string named;  // the absolute path of the file that the user has named; empty: none
};

// Reads `file`, or /etc/rlock.toml and then the user's rlock.toml, which overrides it and, like it,
// need not exist. Throws Error (config) for a file that cannot be read, has unknown settings,
// names a server although others than this user and root may write it, or has a password and is
// open to everybody.
[[nodiscard]] Config read_config(const std::optional<std::string>& file);

}  // namespace rlock::cli
