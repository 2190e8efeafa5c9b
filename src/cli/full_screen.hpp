// The whole terminal at stdout, drawn over and over, and given back as it was.
#pragma once

#include <string>
#include <termios.h>
#include <vector>

#include "cli/terminal_size.hpp"

namespace rlock::cli {

class FullScreen {
 public:
  // Returns true if stdout is a terminal that can be drawn on.
  [[nodiscard]] static bool is_possible();

  FullScreen() = default;
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;
  ~FullScreen() { leave(); }

  [[nodiscard]] static TerminalSize size();

  // Draws lines that fit into `size`, in one write, after taking the terminal if it is not taken
  // yet. Does nothing while another job is in the foreground. Throws Error if it is gone.
  void draw(const std::vector<std::string>& lines, const TerminalSize& size);

  // Makes the next `draw` take the terminal again: another program may have used it meanwhile.
  void refresh() noexcept { is_stale_ = true; }

  // Gives the terminal back as it was before the first `draw`.
  void leave() noexcept;

 private:
  [[nodiscard]] std::string take();

  bool taken_ = false;
  bool is_stale_ = false;
  bool has_modes_ = false;
  termios modes_{};
};

}  // namespace rlock::cli
