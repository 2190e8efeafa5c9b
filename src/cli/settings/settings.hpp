// The values of the global options that can also be set elsewhere, and where each comes from.
#pragma once

#include <string>
#include <vector>

#include "base/exit_status.hpp"
#include "cli/settings/config_file.hpp"

namespace rlock::cli {

struct Globals;

struct Setting {
  enum class From { fallback, file, environment, flag };

  std::string name;   // the option's long name without the dashes
  std::string value;  // empty: there is none. Servers have a space between them
  From from = From::fallback;
  std::string source;    // "flag", the variable, the file or "default"
  std::size_t line = 0;  // of the file

  // What a complaint about the value starts with, and the status that belongs to it.
  [[nodiscard]] std::string label() const;
  [[nodiscard]] ExitStatus blame() const noexcept;
};

// Flags beat the environment, which beats the files.
class Settings {
 public:
  // Reads environment and files. Throws Error (config).
  explicit Settings(const Globals& globals);

  // Returns the setting, one of those that a configuration file may have.
  [[nodiscard]] const Setting& get(const std::string& name) const;
  [[nodiscard]] const std::vector<Setting>& all() const noexcept { return all_; }

  // The variable with the password, and the password; or nothing, where a file has it.
  [[nodiscard]] const Setting& password() const noexcept { return password_; }
  [[nodiscard]] const Config& files() const noexcept { return files_; }

 private:
  Config files_;
  std::vector<Setting> all_;
  Setting password_;
};

}  // namespace rlock::cli
