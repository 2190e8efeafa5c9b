// The first care, and the last catch: a message to stderr and a status out.

#include <exception>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "base/error.hpp"
#include "cli/app.hpp"
#include "cli/message.hpp"

namespace {

// What we open next would take the place of a standard descriptor that our caller has closed, and
// messages would go there. This can be read and written no more than a closed one, and the command
// finds it closed.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/", O_PATH | O_CLOEXEC);
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  try {
    return rlock::cli::run(argc, argv);
  } catch (const rlock::Error& error) {
    rlock::cli::say(error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    rlock::cli::say(std::string("internal error: ") + error.what());
    return static_cast<int>(rlock::ExitStatus::internal);
  }
}
