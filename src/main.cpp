// Prepares the process, runs rlock, and turns an exception into a message on stderr and an exit
// status.

#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <new>
#include <signal.h>
#include <unistd.h>

#include "base/error.hpp"
#include "cli/app.hpp"
#include "cli/terminal/message.hpp"

namespace {

constexpr std::size_t k_least_memory = 1024;  // for an exception and its message

// Fills standard descriptors that the caller has closed. Otherwise the next file that rlock opens
// would get such a number, and messages would go to that file. An O_PATH descriptor cannot be read
// or written either, and it is closed for the command.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/", O_PATH | O_CLOEXEC);
  }
}

int tell(const std::exception& exception) {
  const rlock::Error error = rlock::to_error(exception);
  rlock::cli::say(error.what());
  return static_cast<int>(error.status());
}

// Ends the process when an exception cannot be caught: there is no memory for it, or a function
// that must not throw has thrown. The guardian then ends the command, and the lock ends with its
// lease.
[[noreturn]] void end_at_once() {
  void* const memory = std::malloc(k_least_memory);  // `new` would come here again
  bool has_memory = memory != nullptr;
  std::free(memory);
  if (std::current_exception()) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      has_memory = false;
    } catch (const std::exception& exception) {
      if (has_memory) ::_exit(tell(exception));
    } catch (...) {  // a bug, as below
    }
  }
  using rlock::ExitStatus;
  rlock::cli::say(has_memory ? "internal error: unexpected end" : "out of memory");
  ::_exit(static_cast<int>(has_memory ? ExitStatus::internal : ExitStatus::unavailable));
}

// Does not return, unless this is the first process of a container, which no such signal ends.
int end_by(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  return static_cast<int>(rlock::ExitStatus::signal_base) + signal;
}

// Runs before the constructors of all static objects, some of which allocate memory.
[[gnu::constructor(101)]] void prepare_for_the_end() { std::set_terminate(end_at_once); }

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  try {
    const int end = rlock::cli::parse(argc, argv)();
    const int status = end < 0 ? end_by(-end) : end;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these report at the end
    ::_exit(status);  // static objects have nothing to do, and their destructors touch more memory
#endif
    return status;
  } catch (const std::exception& exception) {
    return tell(exception);
  }
}
