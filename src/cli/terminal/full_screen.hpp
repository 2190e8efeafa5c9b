// The whole terminal at stdout, drawn over and over, and given back as it was; and its keys, where
// stdin is the terminal, too.
#pragma once

#include <string>
#include <termios.h>
#include <unistd.h>
#include <vector>

#include "base/fd.hpp"
#include "cli/terminal/terminal_size.hpp"

namespace rlock::cli {

class FullScreen {
 public:
  // Returns true if stdout is a terminal that can be drawn on.
  [[nodiscard]] static bool is_possible();
  // Returns true if keys are read: stdin is our terminal, too, and this is no background job of a
  // script.
  [[nodiscard]] static bool has_keys() noexcept;

  FullScreen() = default;
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;
  ~FullScreen() { leave(); }

  [[nodiscard]] static TerminalSize size();

  // Draws lines that fit into `size`, in one write, after taking the terminal if it is not taken
  // yet. Does nothing while another job is in the foreground. Throws Error if it is gone.
  void draw(const std::vector<std::string>& lines, const TerminalSize& size);
  // Returns whether the terminal has not taken the last frame whole yet: then no other may be drawn
  // before `go_on`, which tries again when stdout is ready, has written the rest. That never
  // blocks, where the system allows: what has stopped to read must not keep us from ending.
  [[nodiscard]] bool is_writing() const noexcept { return !rest_.empty(); }
  void go_on();

  // Returns the descriptor to poll for keys; -1 while there are none for us, as in the background.
  [[nodiscard]] int keys_fd() const noexcept;
  // Returns whether this key is among those that were pressed, and takes them all. Never blocks.
  [[nodiscard]] bool is_pressed(char key);

  // Makes the next `draw` take the terminal again: another program may have used it meanwhile.
  void refresh() noexcept { is_stale_ = true; }

  // Gives the terminal back as it was before the first `draw`.
  void leave() noexcept;

 private:
  [[nodiscard]] std::string take();

  [[nodiscard]] int fd() const noexcept { return fd_.valid() ? fd_.get() : STDOUT_FILENO; }

  Fd fd_;             // stdout's terminal, without blocking; none where it cannot be opened
  std::string rest_;  // of the last frame
  bool taken_ = false;
  bool is_stale_ = false;
  bool has_modes_ = false;
  const bool has_keys_ = has_keys();
  termios modes_{};
};

}  // namespace rlock::cli
