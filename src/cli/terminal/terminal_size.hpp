// The size of the terminal that people read from.
#pragma once

#include <cstddef>
#include <optional>

namespace rlock::cli {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// Returns the size of the terminal that `fd` is, 80x24 where it does not tell; nothing if `fd` is
// no terminal.
[[nodiscard]] std::optional<TerminalSize> terminal_size(int fd);

// Returns the columns of the terminal that `fd` is; nothing if it is none.
[[nodiscard]] std::optional<std::size_t> terminal_columns(int fd);

}  // namespace rlock::cli
