#include "cli/terminal/question.hpp"

#include <cerrno>
#include <termios.h>
#include <unistd.h>

#include "cli/terminal/message.hpp"

namespace rlock::cli {
namespace {

constexpr std::size_t k_longest_answer = 4096;

// Returns what is typed before the end of the line.
std::string read_line() {
  std::string line;
  char c = 0;
  while (line.size() < k_longest_answer) {
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1) {
      write_stderr("\n");
      return "";  // a line that was not finished is no answer
    }
    if (c == '\n') return line;
    line += c;
  }
  return "";
}

}  // namespace

bool can_ask() noexcept { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

bool confirms(const std::string& question) {
  ::tcflush(STDIN_FILENO, TCIFLUSH);
  write_stderr("rlock: " + question + " [y/N] ");
  const std::string answer = read_line();
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace rlock::cli
