// The command line.
#pragma once

#include <functional>

namespace rlock::cli {

// Parses the arguments of main(). Returns the action that they ask for, and does not run it. The
// action returns the status to exit with, or minus the signal by which the process is to end
// itself. Both throw Error.
[[nodiscard]] std::function<int()> parse(int argc, const char* const* argv);

}  // namespace rlock::cli
