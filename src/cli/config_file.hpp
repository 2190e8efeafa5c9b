// Settings from configuration files (TOML): defaults for the global options.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace rlock::cli {

// An option's long name without the dashes -> its value.
using Settings = std::map<std::string, std::string>;

// Reads `file`, or without it /etc/rlock.toml and then the user's rlock.toml, which wins. A file
// that was not named and does not exist is no error. Throws Error (config).
[[nodiscard]] Settings read_config(const std::optional<std::string>& file);

}  // namespace rlock::cli
