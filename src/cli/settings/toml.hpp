// As much of TOML as settings need: keys with texts, numbers, or lists of texts, without tables.
//
// Why not toml++: up to 3.4, a letter such as é outside of quotes is undefined behaviour (its issue
// 295), and a key with many dots overflows the stack. With what guards against that, and with
// messages that name the mistake, it was tried and took as many lines as this, and 130 KB more.
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
  // The text, or the number as it was written, or the list's texts; of `other` what it is: "a
  // boolean".
  std::vector<std::string> values;
};

// Returns the entries in their order. Throws Error (config), "line N: why", for what is no TOML, a
// key that is there twice, and tables.
[[nodiscard]] std::vector<TomlEntry> parse_toml(std::string_view text);

}  // namespace rlock::cli
