// Starting and ending one child process; the base of Process, Pty and Server.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace rlock::test {

// Changes to the inherited environment: a value sets the variable, nullopt removes it.
using EnvChanges = std::map<std::string, std::optional<std::string>>;

// How a child ended and what it wrote.
struct Result {
  int status = 0;         // exit code, or 128 + signal
  bool signaled = false;  // ended by a signal
  std::string out{};
  std::string err{};  // empty for a Pty
};

struct SpawnPlan {
  std::vector<std::string> argv{};  // argv[0] is looked up in PATH when it has no slash
  EnvChanges env{};
  std::string cwd{};  // empty: that of the test
  int in = -1;        // descriptors for 0, 1 and 2; -1: /dev/null
  int out = -1;
  int err = -1;
  bool own_group = true;
  bool own_session = false;           // setsid, and descriptor 0 becomes the controlling terminal
  bool die_with_test = true;          // PR_SET_PDEATHSIG SIGKILL: when the thread that spawns ends
  std::vector<int> ignore_signals{};  // these start as SIG_IGN, all others as SIG_DFL
};

// What the text of the exception begins with where a program is not in PATH. A test case that ends
// by it counts as skipped.
inline constexpr const char* k_lacks = "not installed: ";

// Starts a program with an empty signal mask. Throws std::runtime_error (k_lacks) when it is not in
// PATH, and std::system_error when it cannot be started (cwd cannot be entered).
pid_t spawn(const SpawnPlan& plan);

// A started child. The destructor kills it with its group (or session) and reaps it.
class Child {
 public:
  explicit Child(const SpawnPlan& plan);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // True until the child has ended; reaps it then.
  bool running();
  // Sends a signal to the child (or to its whole group). Does nothing when it has been reaped.
  void signal(int number);
  void signal_group(int number);
  // Kills child and group (or session), and reaps. Safe to call again.
  void end();
  // The exit code or 128 + signal in status; only after running() is false.
  [[nodiscard]] Result result() const;

 private:
  void kill_family();

  pid_t pid_ = -1;
  bool own_group_ = true;
  bool own_session_ = false;
  bool reaped_ = false;
  bool ended_ = false;
  int raw_status_ = 0;
};

}  // namespace rlock::test
