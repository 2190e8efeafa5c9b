// The global options that files and the environment can set: their values and the sources of these.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_status.hpp"

namespace rlock::cli {

struct Globals;

struct Setting {
  enum class From { fallback, file, environment, flag };

  std::string name;   // the option's long name without the dashes
  std::string value;  // empty: there is none. Spaces separate several servers
  From from = From::fallback;
  std::string source;    // "flag", the variable, the file or "default"
  std::size_t line = 0;  // of the file

  // Returns the first words of a message about a wrong value: where it was set.
  [[nodiscard]] std::string label() const;
  // Returns the exit status for a wrong value.
  [[nodiscard]] ExitStatus blame() const noexcept;
};

struct Config {
  std::map<std::string, Setting> settings;  // by their names
  std::vector<std::string> read;            // the files that were read, in this order
  std::vector<std::string> missing;         // the default files that do not exist
  std::string named;  // the absolute path of the file that the user has named; empty: none
};

// Reads `file`, or /etc/rlock.toml and then the user's rlock.toml, which overrides it and, like it,
// need not exist. Throws Error (config) for a file that cannot be read, has unknown settings, or
// has a password and is open to everybody.
[[nodiscard]] Config read_config(const std::optional<std::string>& file);

// Flags override the environment, which overrides the files.
class Settings {
 public:
  // Reads environment and files. Throws Error (config).
  explicit Settings(const Globals& globals);

  // Returns a setting. `name` must be a setting of configuration files.
  [[nodiscard]] const Setting& get(const std::string& name) const;
  [[nodiscard]] const std::vector<Setting>& all() const noexcept { return all_; }

  // Returns the password from a variable, with the variable as its source. Its value is empty if no
  // such variable is set, or if --password-file is given.
  [[nodiscard]] const Setting& password() const noexcept { return password_; }
  [[nodiscard]] const Config& files() const noexcept { return files_; }

 private:
  Config files_;
  std::vector<Setting> all_;
  Setting password_;
};

}  // namespace rlock::cli
