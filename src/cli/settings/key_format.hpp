// --key-format: makes the name of a lock's key from a shorter name that other programs use.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rlock::cli {

class OptionSet;

class KeyFormat {
 public:
  void add_to(OptionSet command);

  [[nodiscard]] bool is_given() const noexcept { return format_.has_value(); }

  // Returns the format with its {} replaced by `name`, or `name` if there is no format. This is the
  // lock's name from now on. Throws Error (usage) for a bad format, name or key.
  [[nodiscard]] std::string key_of(const std::string& name) const;
  // The same for several names.
  [[nodiscard]] std::vector<std::string> keys_of(std::vector<std::string> names) const;

 private:
  std::optional<std::string> format_;
};

}  // namespace rlock::cli
