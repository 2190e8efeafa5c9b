// --key-format: makes the name of a lock's key from a shorter name that other programs use.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rlock::cli {

class KeyFormat {
 public:
  // Adds the option to `app`. Parsing it throws Error (usage) for a bad format.
  void add_to(CLI::App& app);

  [[nodiscard]] bool is_given() const noexcept { return !format_.empty(); }

  // Returns the format with its {} replaced by `name`, or `name` if there is no format. This is the
  // lock's name from now on. Throws Error (usage) for a bad name or key.
  [[nodiscard]] std::string key_of(const std::string& name) const;
  // The same for several names.
  [[nodiscard]] std::vector<std::string> keys_of(std::vector<std::string> names) const;

 private:
  std::string format_;
};

}  // namespace rlock::cli
