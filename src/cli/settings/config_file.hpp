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
  std::vector<std::string> missing;             // those that would have been
  std::string named;  // the absolute path of the one that the user has named; empty: none
};

// Reads `file`, or without it /etc/rlock.toml and then the user's rlock.toml, which wins. A file
// that was not named need not exist. Throws Error (config) for one that cannot be read, has
// anything but known settings, or holds a password that everybody can read.
[[nodiscard]] Config read_config(const std::optional<std::string>& file);

}  // namespace rlock::cli
