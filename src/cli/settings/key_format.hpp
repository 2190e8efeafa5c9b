// --key-format: how a lock's key is named where other programs call the lock by a shorter name.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rlock::cli {

class KeyFormat {
 public:
  void add_to(CLI::App& app);

  [[nodiscard]] bool is_given() const noexcept { return !format_.empty(); }

  // Returns the key, by which the lock is called from now on: the format with the name in the place
  // of its {}, or the name itself. Throws Error (usage) for a bad format, name or key.
  [[nodiscard]] std::string key_of(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> keys_of(std::vector<std::string> names) const;

 private:
  std::string format_;
};

}  // namespace rlock::cli
