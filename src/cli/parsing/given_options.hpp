// The options that a command line can mean: only these have to be set up to understand it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rlock::cli {

class GivenOptions {
 public:
  // All options: for help texts, and for errors.
  GivenOptions() = default;
  // Those in `words`, before "--". May include some that are values of others.
  explicit GivenOptions(const std::vector<std::string>& words);

  [[nodiscard]] bool has_all() const noexcept { return has_all_; }
  // Returns whether an option with these names, such as "-w,--wait", is among them.
  [[nodiscard]] bool has_any_of(std::string_view names) const;

 private:
  bool has_all_ = true;
  std::string letters_;                  // of all words such as -qv or -w5s
  std::vector<std::string> long_names_;  // such as "--wait"
};

}  // namespace rlock::cli
