#include "cli/terminal/terminal_size.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace rlock::cli {

std::optional<TerminalSize> terminal_size(int fd) {
  if (::isatty(fd) != 1) return std::nullopt;
  TerminalSize result;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return result;
  if (size.ws_col != 0) result.columns = size.ws_col;
  if (size.ws_row != 0) result.rows = size.ws_row;
  return result;
}

std::optional<std::size_t> terminal_columns(int fd) {
  const auto size = terminal_size(fd);
  return size ? std::optional(size->columns) : std::nullopt;
}

}  // namespace rlock::cli
