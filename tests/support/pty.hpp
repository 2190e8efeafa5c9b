// A program on a terminal of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "fd.hpp"
#include "spawn.hpp"

namespace rlock::test {

struct PtyOptions {
  EnvChanges env{};  // TERM is xterm unless it is set here
  std::string cwd{};
  unsigned short columns = 80;
  unsigned short rows = 24;
};

// Runs a program in a new session with a pseudo terminal as its controlling terminal, stdin, stdout
// and stderr. The terminal echoes what is typed. The destructor kills all processes of the session.
class Pty {
 public:
  // Throws std::system_error when the terminal or the program cannot be started.
  explicit Pty(std::vector<std::string> argv, const PtyOptions& options = {});

  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  [[nodiscard]] bool running() { return child_.running(); }
  // Sends a signal to the program.
  void signal(int number) { child_.signal(number); }

  // Types keys: "\r" is Enter, "\x03" Ctrl-C, "\x1a" Ctrl-Z, "\x04" Ctrl-D. Throws
  // std::runtime_error when the terminal does not take them within 10 s.
  void type(std::string_view keys);

  // Reads until text comes after the end of the previous match, and moves that mark behind it.
  // Throws std::runtime_error with all the output when bound (ms) passes or the terminal is closed.
  void expect(std::string_view text, std::chrono::milliseconds bound = std::chrono::seconds(30));

  // Reads what there is, without waiting, and returns all bytes since the start.
  const std::string& output();

  // Changes the window; the program gets SIGWINCH.
  void resize(unsigned short columns, unsigned short rows);

  // The process group in the foreground of the terminal; -1 when there is none.
  [[nodiscard]] pid_t foreground() const;

  // Waits for the end of the program; out has all output. When bound (ms) passes: kills the session
  // and throws std::runtime_error with the output.
  Result wait(std::chrono::milliseconds bound = std::chrono::seconds(60));

 private:
  struct Ends;
  Pty(Ends ends, std::vector<std::string> argv, const PtyOptions& options);
  void pump(int wait_ms);
  [[noreturn]] void fail(const std::string& what);

  std::string name_;
  UniqueFd master_;
  std::string output_;
  std::size_t seen_ = 0;
  bool open_ = true;
  Child child_;
};

}  // namespace rlock::test
