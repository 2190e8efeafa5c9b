// Draws on the whole terminal at stdout, and restores it. Reads keys if stdin is also the terminal.
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
  // Returns whether stdout is a terminal that can be drawn on.
  [[nodiscard]] static bool is_possible();
  // Returns whether keys are read: from the same terminal, and not by a script's background job.
  [[nodiscard]] static bool has_keys() noexcept;

  FullScreen() = default;
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;
  ~FullScreen() { leave(); }

  // Draws lines in one write. The lines must fit into `size`. The first call takes the terminal.
  // Does nothing while another job is in the foreground. Throws Error if the terminal is gone.
  void draw(const std::vector<std::string>& lines, const TerminalSize& size);
  // Returns whether a part of the last frame is not written yet. Then call `go_on` when stdout is
  // ready, until this returns false. Call `draw` only after that. No call blocks, if the system
  // permits it, so that a terminal that has stopped reading does not keep rlock from ending.
  [[nodiscard]] bool is_writing() const noexcept { return !rest_.empty(); }
  void go_on();

  // Returns the descriptor to poll for keys, or -1 while none come, as in the background.
  [[nodiscard]] int keys_fd() const noexcept;
  // Takes all keys that were pressed, and returns whether `key` is one of them. Never blocks.
  [[nodiscard]] bool is_pressed(char key);

  // Makes the next `draw` take the terminal again. Call it if another program may have used it.
  void refresh() noexcept { is_stale_ = true; }

  // Restores the terminal to the state before the first `draw`.
  void leave() noexcept;

 private:
  [[nodiscard]] std::string take();

  [[nodiscard]] int fd() const noexcept { return fd_.valid() ? fd_.get() : STDOUT_FILENO; }

  Fd fd_;             // stdout's terminal, non-blocking. None if it cannot be opened
  std::string rest_;  // of the last frame
  bool taken_ = false;
  bool is_stale_ = false;
  bool has_modes_ = false;
  const bool has_keys_ = has_keys();
  termios modes_{};
};

}  // namespace rlock::cli
