#include "base/process_stat.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/integer.hpp"

namespace rlock {
namespace {

// The fields after "(program) ", by their place.
enum Field : std::size_t {
  state,
  parent,
  group,
  session,
  flags = 6,
  threads = 17,
  start = 19,
  needed
};

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto found = parse_integer<Number>(text);
  number = found.value_or(0);
  return found.has_value();
}

}  // namespace

// "pid (program) state parent ..."; the program may contain anything.
std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  const std::size_t open = line.find(" (");
  const std::size_t close = line.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(close + 2);
  std::array<std::string_view, Field::needed> fields;  // no memory: the guardian comes here, too
  for (std::string_view& field : fields) {
    field = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
  }
  if (fields[Field::state].size() != 1) return std::nullopt;
  ProcessStat stat;
  stat.name = line.substr(open + 2, close - open - 2);
  stat.state = fields[Field::state][0];
  if (read_number(line.substr(0, open), stat.pid) &&
      read_number(fields[Field::parent], stat.parent) &&
      read_number(fields[Field::group], stat.group) &&
      read_number(fields[Field::session], stat.session) &&
      read_number(fields[Field::flags], stat.flags) &&
      read_number(fields[Field::threads], stat.threads) &&
      read_number(fields[Field::start], stat.start)) {
    return stat;
  }
  return std::nullopt;
}

std::optional<ProcessStat> read_process_stat(pid_t pid, int proc) {
  std::array<char, 32> path{"/proc/"};
  char* const number = path.data() + std::strlen(path.data());
  std::ranges::copy(std::string_view("/stat"), std::to_chars(number, path.end(), pid).ptr);
  const Fd fd(proc < 0 ? ::open(path.data(), O_RDONLY | O_CLOEXEC)
                       : ::openat(proc, number, O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> line;  // NOLINT: read fills it
  const ssize_t size = fd.valid() ? ::read(fd.get(), line.data(), line.size()) : -1;
  if (size <= 0) return std::nullopt;
  return parse_process_stat({line.data(), static_cast<std::size_t>(size)});
}

}  // namespace rlock
