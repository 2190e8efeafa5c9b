// A program under test, with its input, its output and its end.
#pragma once

#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "fd.hpp"
#include "spawn.hpp"

namespace rlock::test {

struct ProcessOptions {
  EnvChanges env{};
  std::optional<std::string> stdin_text{};  // a pipe with this text; nullopt: /dev/null
  bool hold_stdin = false;                  // keep that pipe open until close_stdin()
  std::string cwd{};
  bool own_group = true;
  bool die_with_test = true;          // SIGKILL when the thread that started it ends
  std::vector<int> ignore_signals{};  // start with these ignored, as under nohup
};

// A running program. Its output is read only inside the functions below: one that writes more than
// a pipe holds (64 KiB) waits for the next call. The destructor kills it with its process group.
// Not copyable or movable: use std::deque::emplace_back or std::unique_ptr for many.
class Process {
 public:
  // Throws std::system_error when the program cannot be started.
  explicit Process(std::vector<std::string> argv, const ProcessOptions& options = {});

  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  // Sends a signal to the process, or to its group; nothing when it has ended.
  void signal(int number) { child_.signal(number); }
  void signal_group(int number) { child_.signal_group(number); }
  // True until the process itself has ended.
  bool running();

  // More input (needs hold_stdin), and its end.
  void write_stdin(std::string_view text);
  void close_stdin();

  // Reads until all that was written so far contains text. Throws std::runtime_error with the
  // output when bound (ms) passes, or when the stream ends without it.
  void wait_for_stdout(std::string_view text,
                       std::chrono::milliseconds bound = std::chrono::seconds(30));
  void wait_for_stderr(std::string_view text,
                       std::chrono::milliseconds bound = std::chrono::seconds(30));

  // Waits until the process has ended and nobody has its stdout and stderr open any more, as $(...)
  // does. When bound (ms) passes: kills the group and throws std::runtime_error with the output.
  Result wait(std::chrono::milliseconds bound = std::chrono::seconds(60));
  // The same, but waits for the end of the process only: a child may go on with its stdout.
  Result wait_exit(std::chrono::milliseconds bound = std::chrono::seconds(60));

  // What has been read so far.
  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] const std::string& err() const { return err_; }

 private:
  struct Pipes;
  Process(Pipes pipes, std::vector<std::string> argv, const ProcessOptions& options);
  void pump(int wait_ms);
  void feed_stdin();
  Result wait_for(bool streams_too, std::chrono::milliseconds bound);
  void wait_text(const std::string& stream, const UniqueFd& fd, std::string_view text,
                 std::chrono::milliseconds bound);
  [[noreturn]] void fail(const std::string& what);

  std::string name_;
  UniqueFd in_, out_fd_, err_fd_;
  std::string pending_, out_, err_;
  bool hold_stdin_;
  Child child_;
};

// Starts argv and waits for its end. Throws as Process and its wait do.
Result run(std::vector<std::string> argv, const ProcessOptions& options = {},
           std::chrono::milliseconds bound = std::chrono::seconds(60));

// Whether this, which rlock has written to stderr, is one message of one line.
bool is_one_message(std::string_view text);

// The path of the rlock under test: environment RLOCK_TEST_PROGRAM, else the compile definition.
std::string rlock_program();

// Whether that has a sanitizer in it, which takes memory and time of its own.
bool is_sanitized();

// argv of rlock with these arguments, each a word or a list of words:
// rlock_argv("exec", options, "job", "--", "true").
template <class... Args>
std::vector<std::string> rlock_argv(const Args&... args) {
  std::vector<std::string> argv{rlock_program()};
  [[maybe_unused]] const auto add = [&argv](const auto& arg) {
    if constexpr (std::convertible_to<decltype(arg), std::string>) {
      argv.emplace_back(arg);
    } else {
      argv.insert(argv.end(), arg.begin(), arg.end());
    }
  };
  (add(args), ...);
  return argv;
}

}  // namespace rlock::test
