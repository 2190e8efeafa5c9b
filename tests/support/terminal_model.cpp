#include "terminal_model.hpp"

#include <algorithm>

namespace rlock::test {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

std::size_t length_of(unsigned first) {
  return first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
}

// Good enough for the tests: kana, CJK, Hangul and emoji are wide.
std::size_t width_of(std::string_view character) {
  unsigned value = byte_at(character, 0);
  if (character.size() > 1) value &= 0x7FU >> character.size();
  for (std::size_t i = 1; i < character.size(); ++i) {
    value = value << 6U | (byte_at(character, i) & 0x3FU);
  }
  const bool wide = (value >= 0x2E80 && value <= 0xA4CF) || (value >= 0xAC00 && value <= 0xD7A3) ||
                    (value >= 0x1F300 && value <= 0x1FAFF);
  return wide ? 2 : 1;
}

}  // namespace

TerminalModel::TerminalModel(std::size_t columns, std::size_t rows) { resize(columns, rows); }

void TerminalModel::resize(std::size_t columns, std::size_t rows) {
  columns_ = columns;
  rows_ = rows;
  cells_.assign(rows, std::vector<std::string>(columns, " "));
  row_ = std::min(row_, rows - 1);
  column_ = std::min(column_, columns - 1);
}

void TerminalModel::feed(std::string_view bytes) {
  const std::string all = rest_ + std::string(bytes);
  std::string_view left = all;
  while (!left.empty()) {
    const std::size_t taken = left[0] == '\x1b' ? take_sequence(left) : take_character(left);
    if (taken == 0) break;  // the rest of it comes later
    left.remove_prefix(taken);
  }
  rest_ = left;
}

std::size_t TerminalModel::take_sequence(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  if (bytes[1] != '[') {
    faults_ += "escape " + std::string(bytes.substr(1, 1)) + "\n";
    return 2;
  }
  const std::size_t end = bytes.find_first_not_of("0123456789;?", 2);
  if (end == std::string_view::npos) return 0;
  control(std::string(bytes.substr(2, end - 2)), bytes[end]);
  return end + 1;
}

void TerminalModel::control(const std::string& parameters, char command) {
  const std::string sequence = parameters + command;
  if (sequence == "H") {
    row_ = column_ = 0;
    ++frames_;
  } else if (sequence == "K") {
    erase(row_, column_);
  } else if (sequence == "J") {
    erase(row_, column_);
    for (std::size_t row = row_ + 1; row < rows_; ++row) erase(row, 0);
  } else if (sequence == "?1049h" || sequence == "?1049l") {
    alternate_ = command == 'h';
    for (std::size_t row = 0; row < rows_; ++row) erase(row, 0);
  } else if (sequence == "?25h" || sequence == "?25l") {
    cursor_ = command == 'h';
  } else if (sequence == "?7h" || sequence == "?7l") {
    wraps_ = command == 'h';
  } else if (sequence == "31m" || sequence == "32m" || sequence == "33m" || sequence == "0m") {
    is_painted_ = sequence != "0m";
  } else {
    faults_ += "sequence " + sequence + "\n";
  }
}

std::size_t TerminalModel::take_character(std::string_view bytes) {
  const unsigned first = byte_at(bytes, 0);
  if (first == '\r' || first == '\n') {
    if (is_painted_) faults_ += "a colour goes on in the next line\n";
  }
  if (first == '\r') {
    column_ = 0;
  } else if (first == '\n') {
    if (row_ + 1 == rows_) faults_ += "scrolled\n";
    row_ = std::min(row_ + 1, rows_ - 1);
  } else if (first < 0x20 || first == 0x7F) {
    faults_ += "control character " + std::to_string(first) + "\n";
  } else {
    const std::size_t length = length_of(first);
    if (bytes.size() < length) return 0;
    const std::string character(bytes.substr(0, length));
    if (length == 2 && first == 0xC2 && byte_at(bytes, 1) < 0xA0) faults_ += "C1 character\n";
    put(character, width_of(character));
    return length;
  }
  return 1;
}

void TerminalModel::put(const std::string& character, std::size_t width) {
  if (column_ + width > columns_) {
    faults_ += "beyond the edge: " + character + "\n";
    return;
  }
  cells_[row_][column_] = character;
  for (std::size_t i = 1; i < width; ++i) cells_[row_][column_ + i].clear();
  column_ += width;
}

void TerminalModel::erase(std::size_t row, std::size_t from) {
  for (std::size_t column = from; column < columns_; ++column) cells_[row][column] = " ";
}

std::vector<std::string> TerminalModel::lines() const {
  std::vector<std::string> lines;
  for (const auto& cells : cells_) {
    std::string line;
    for (const std::string& cell : cells) line += cell;
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string TerminalModel::text() const {
  std::string text;
  for (const std::string& line : lines()) text += line + "\n";
  return text;
}

}  // namespace rlock::test
