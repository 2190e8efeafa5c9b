#include "cli/config_file.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/escape.hpp"

namespace rlock::cli {
namespace {

constexpr std::array<std::string_view, 5> k_keys = {"redis", "timeout", "user", "password-file",
                                                    "color"};

std::string user_file() {
  const char* directory = std::getenv("XDG_CONFIG_HOME");
  if (directory != nullptr && *directory != '\0') return std::string(directory) + "/rlock.toml";
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.config/rlock.toml";
}

enum class Missing { fine, error };

void read_into(Settings& settings, const std::string& file, Missing missing) {
  const auto fail = [&](const std::string& why) {
    throw Error(ExitStatus::config, escape_for_terminal(file) + ": " + why);
  };
  std::ifstream input(file);
  if (!input) {
    if (missing == Missing::error) fail("cannot be read");
    return;
  }
  try {
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(input)) {
      bool known = false;
      for (const std::string_view key : k_keys) known = known || key == item.name;
      if (!item.parents.empty()) {
        fail("unknown table '" + escape_for_terminal(item.parents.front()) + "'");
      }
      if (!known) {
        fail("unknown setting '" + escape_for_terminal(item.fullname()) + "'");
      }
      std::string value;
      for (const std::string& part : item.inputs) value += (value.empty() ? "" : " ") + part;
      settings[item.name] = value;
    }
  } catch (const CLI::Error& error) {
    fail(escape_for_terminal(error.what()));
  }
  if (input.bad()) fail("cannot be read");  // a directory, for one
}

}  // namespace

Settings read_config(const std::optional<std::string>& file) {
  Settings settings;
  if (file) {
    read_into(settings, *file, Missing::error);
    return settings;
  }
  read_into(settings, "/etc/rlock.toml", Missing::fine);
  const std::string own = user_file();
  if (!own.empty()) read_into(settings, own, Missing::fine);
  return settings;
}

}  // namespace rlock::cli
