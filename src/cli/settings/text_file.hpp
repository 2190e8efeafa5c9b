// Files that people write, as settings and passwords are: small, not to be waited for long, and
// perhaps secret.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "base/clock.hpp"

namespace rlock::cli {

struct TextFile {
  std::string path;
  std::string text;
  bool is_regular = false;  // else a pipe, as of <(command), or a device
  uid_t owner = 0;
  mode_t mode = 0;
};

// Returns the absolute path: each connection reads a file anew, also that of a watchdog that has
// left our directory.
[[nodiscard]] std::string absolute_path(const std::string& path);

enum class Extent { all, first_line };

// Reads a file of 1 MiB at the most, or a pipe until nobody can write to it; waits `patience` for
// each piece. Returns nothing if there is no such file. Throws Error (config) that names the file.
[[nodiscard]] std::optional<TextFile> read_text_file(const std::string& path, Extent extent,
                                                     Milliseconds patience = Milliseconds(10'000));

// Throws Error (config) if a file, which holds a password, can be read or changed by others than
// its owner and its group, or belongs neither to us nor to root. Pipes and devices pass.
void refuse_if_exposed(const TextFile& file);

}  // namespace rlock::cli
