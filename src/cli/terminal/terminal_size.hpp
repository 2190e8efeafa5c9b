// The size of a terminal.
#pragma once

#include <cstddef>
#include <optional>

namespace rlock::cli {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// Returns the size of the terminal `fd`, or 80x24 if the terminal does not report its size. Returns
// nothing if `fd` is not a terminal.
[[nodiscard]] std::optional<TerminalSize> terminal_size(int fd);

// Returns the columns of the terminal `fd`. Returns nothing if `fd` is not a terminal.
[[nodiscard]] std::optional<std::size_t> terminal_columns(int fd);

}  // namespace rlock::cli
