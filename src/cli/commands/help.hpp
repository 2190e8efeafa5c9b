// The look of --help.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace rlock::cli {

// Makes `command`'s help start with `usage`, such as "rlock exec [OPTIONS] NAME... -- CMD", and end
// with `examples`: lines that end with '\n'.
void set_usage(CLI::App& command, const std::string& usage, const std::string& examples = "");

}  // namespace rlock::cli
