// What a terminal shows after the bytes that a full-screen program has written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rlock::test {

// Knows the sequences that a modest program needs; every other one, and every other control
// character, counts as a fault. So does what a screen must not do: scroll, or write over its edge.
class TerminalModel {
 public:
  TerminalModel(std::size_t columns, std::size_t rows);

  // Takes the next bytes, in pieces of any size.
  void feed(std::string_view bytes);
  // Another size; what was shown is gone.
  void resize(std::size_t columns, std::size_t rows);

  // The lines, from the top, without the spaces at their ends.
  [[nodiscard]] std::vector<std::string> lines() const;
  // The same in one text, each line with a newline.
  [[nodiscard]] std::string text() const;
  // How often the cursor went home: once a frame.
  [[nodiscard]] std::size_t frames() const { return frames_; }
  [[nodiscard]] bool is_alternate() const { return alternate_; }
  [[nodiscard]] bool has_cursor() const { return cursor_; }
  [[nodiscard]] bool wraps() const { return wraps_; }
  // What should not have come since the start or the last `forgive`, one a line.
  [[nodiscard]] const std::string& faults() const { return faults_; }
  void forgive() { faults_.clear(); }

 private:
  std::size_t take_sequence(std::string_view bytes);
  std::size_t take_character(std::string_view bytes);
  void control(const std::string& parameters, char command);
  void put(const std::string& character, std::size_t width);
  void erase(std::size_t row, std::size_t from);

  std::size_t columns_, rows_;
  std::vector<std::vector<std::string>> cells_;  // the second half of a wide character is empty
  std::size_t row_ = 0, column_ = 0;
  std::size_t frames_ = 0;
  bool alternate_ = false, cursor_ = true, wraps_ = true;
  bool is_painted_ = false;
  std::string rest_, faults_;
};

}  // namespace rlock::test
