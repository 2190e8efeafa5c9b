// The global options that files and the environment can set: their values and the sources of these.
#pragma once

#include <string>
#include <vector>

#include "cli/settings/config_file.hpp"

namespace rlock::cli {

struct Globals;

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
