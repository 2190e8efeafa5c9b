// The layout of --help.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace rlock::cli {

// Sets the usage line of `command`'s help, such as "rlock exec [OPTIONS] NAME... -- CMD", and the
// examples at its end. Each line of `examples` must end with '\n'.
void set_usage(CLI::App& command, const std::string& usage, const std::string& examples = "");

}  // namespace rlock::cli
