// Files that users write, such as settings and passwords: small, perhaps pipes, perhaps secret.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "base/clock.hpp"

namespace rlock::cli {

struct TextFile {
  std::string path;
  std::string text;
  uid_t owner = 0;
  mode_t mode = 0;  // of a file, a pipe such as <(command), or a device
};

// Returns the absolute path of a file. Each connection reads its files anew, and a background
// watchdog has another working directory.
[[nodiscard]] std::string absolute_path(const std::string& path);

enum class Extent { all, first_line };

// Reads a file of up to 1 MiB, or a pipe until nobody can write to it. Waits up to `timeout` for
// the first writer of a named pipe, and for each piece. Returns nothing if there is no such file.
// Throws Error (config) that names the file.
[[nodiscard]] std::optional<TextFile> read_text_file(const std::string& path, Extent extent,
                                                     Milliseconds timeout = Milliseconds(10'000));

// Throws Error (config) that the file `path` cannot be used.
[[noreturn]] void refuse_file(const std::string& path, const std::string& why);

// Throws Error (config) if others than this user and root may write a file that names a server.
// They could send a run to another server, where it would not meet the others. Accepts all pipes
// and devices.
void refuse_if_shared(const TextFile& file);

// Throws Error (config) if a file with a password is open to others than its owner and group, or
// belongs neither to this user nor to root. Accepts all pipes and devices.
void refuse_if_exposed(const TextFile& file);

}  // namespace rlock::cli
