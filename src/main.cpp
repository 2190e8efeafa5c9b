// The first care, and the last catch: a message to stderr and a status out.

#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <new>
#include <unistd.h>

#include "base/error.hpp"
#include "cli/app.hpp"
#include "cli/terminal/message.hpp"

namespace {

constexpr std::size_t k_least_memory = 1024;  // for an exception and its message

// What we open next would take the place of a standard descriptor that our caller has closed, and
// messages would go there. This can be read and written no more than a closed one, and the command
// finds it closed.
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

// For what cannot be caught: no memory even for an exception, or in what must not throw. The
// guardian ends the command, and the lease the lock.
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

// Before all static objects, some of which take memory.
[[gnu::constructor(101)]] void prepare_for_the_end() { std::set_terminate(end_at_once); }

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  try {
    return rlock::cli::run(argc, argv);
  } catch (const std::exception& exception) {
    return tell(exception);
  }
}
