// The files of a folder below /proc that have a number as their name.
#pragma once

#include <cerrno>
#include <dirent.h>
#include <memory>
#include <optional>
#include <string>

#include "base/integer.hpp"

namespace rlock::process {

// Without the folder there are none. Begins with errno 0, and leaves it at 0 unless something
// fails.
class NumberedFiles {
 public:
  explicit NumberedFiles(const std::string& folder) : folder_(open(folder), ::closedir) {}

  // Returns the next number, or nothing after the last one.
  [[nodiscard]] std::optional<int> next() const {
    while (const dirent* file = folder_ ? ::readdir(folder_.get()) : nullptr) {
      if (const auto number = parse_integer<int>(file->d_name)) return number;
    }
    return std::nullopt;
  }

  // Returns the descriptor of the folder, or -1.
  [[nodiscard]] int fd() const { return folder_ ? ::dirfd(folder_.get()) : -1; }

 private:
  static DIR* open(const std::string& folder) {
    errno = 0;
    return ::opendir(folder.c_str());
  }

  std::unique_ptr<DIR, int (*)(DIR*)> folder_;
};

}  // namespace rlock::process
