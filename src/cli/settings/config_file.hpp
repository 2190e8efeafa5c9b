// Settings from configuration files (TOML): defaults for the global options.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rlock::cli {

struct FileSetting {
  std::string value;  // several servers have a space between them
  std::string file;
  std::size_t line = 0;
};

struct Config {
  std::map<std::string, FileSetting> settings;  // by an option's long name without the dashes
  std::vector<std::string> read;                // the files that were read, in this order
  std::vector<std::string> missing;             // the default files that do not exist
  std::string named;  // the absolute path of the file that the user has named; empty: none
};

// Reads `file`. Without `file`, reads /etc/rlock.toml and then the user's rlock.toml, which
// overrides it. These default files need not exist. Throws Error (config) for a file that cannot be
// read, that has unknown settings, or that contains a password and is accessible to everybody.
[[nodiscard]] Config read_config(const std::optional<std::string>& file);

}  // namespace rlock::cli
