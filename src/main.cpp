// The last catch: a message to stderr and a status out.

#include <exception>
#include <string>

#include "base/error.hpp"
#include "cli/app.hpp"
#include "cli/message.hpp"

int main(int argc, char** argv) {
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
