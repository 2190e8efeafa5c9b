// Any text as a configuration file.

#include "base/error.hpp"
#include "cli/settings/toml.hpp"
#include "fuzz/require.hpp"

using namespace rlock;
using namespace rlock::fuzz;
using cli::TomlEntry;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    std::size_t line = 0;
    for (const TomlEntry& entry : cli::parse_toml(as_text(data, size))) {
      require(!entry.key.empty(), "a setting has a name");
      require(entry.line > line, "a setting has a line of its own");
      require(entry.type == TomlEntry::Type::list || entry.values.size() == 1,
              "what is no list is one value");
      for (const std::string& value : entry.values) {
        require(value.find('\0') == std::string::npos, "no NUL reaches a system call");
      }
      line = entry.line;
    }
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(error.status() == ExitStatus::config, "a bad file is a matter of configuration");
    require(message.starts_with("line "), "a message tells the line");
    require(is_plain(message), "a message is harmless for a terminal");
  }
  return 0;
}
