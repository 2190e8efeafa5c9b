// The part of TOML that settings need: keys with texts, numbers, or lists of texts, without tables.
//
// Why not toml++: up to 3.4, a letter such as é outside of quotes is undefined behaviour (its issue
// 295), and a key with many dots overflows the stack. It was tried, with guards against both and
// with messages that name the mistake. That took as many lines as toml.cpp, 130 KB more, and 25 us
// more for each start with a file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rlock::cli {

struct TomlEntry {
  enum class Type { text, number, list, other };

  std::string key;
  std::size_t line = 0;
  Type type = Type::other;
  // The text, the number as written, or the list's texts. Of `other`, its name: "a boolean".
  std::vector<std::string> values;
};

// Returns the entries in their order. Throws Error (config), "line N: why", for text that is not
// TOML, a repeated key, and tables.
[[nodiscard]] std::vector<TomlEntry> parse_toml(std::string_view text);

}  // namespace rlock::cli
