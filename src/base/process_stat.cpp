#include "base/process_stat.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/integer.hpp"

namespace rlock {
namespace {

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

template <typename Number>
bool read_number(std::string_view& text, Number& number) {
  const auto found = parse_integer<Number>(next_word(text));
  number = found.value_or(0);
  return found.has_value();
}

bool skip(std::string_view& text, int words) {
  for (; words > 0; --words) {
    if (next_word(text).empty()) return false;
  }
  return true;
}

}  // namespace

// "pid (program) state parent group session terminal its-group flags ... start ..."; the program
// may contain anything.
std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  constexpr int k_between_session_and_flags = 2;
  constexpr int k_between_flags_and_start = 12;
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  ProcessStat stat;
  std::string_view front = line.substr(0, open);
  std::string_view rest = line.substr(close + 1);
  stat.name = line.substr(open + 1, close - open - 1);
  const bool has_pid = read_number(front, stat.pid);
  const std::string_view state = next_word(rest);
  if (!has_pid || state.size() != 1) return std::nullopt;
  stat.state = state[0];
  if (read_number(rest, stat.parent) && read_number(rest, stat.group) &&
      read_number(rest, stat.session) && skip(rest, k_between_session_and_flags) &&
      read_number(rest, stat.flags) && skip(rest, k_between_flags_and_start) &&
      read_number(rest, stat.start)) {
    return stat;
  }
  return std::nullopt;
}

std::optional<ProcessStat> read_process_stat(pid_t pid, int proc) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), proc < 0 ? "/proc/%d/stat" : "%d/stat", pid);
  const Fd fd(::openat(proc < 0 ? AT_FDCWD : proc, path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> line;  // NOLINT: read fills it
  const ssize_t size = fd.valid() ? ::read(fd.get(), line.data(), line.size()) : -1;
  if (size <= 0) return std::nullopt;
  return parse_process_stat({line.data(), static_cast<std::size_t>(size)});
}

}  // namespace rlock
