// Characters as UTF-8.
#pragma once

#include <cstdint>
#include <string>

namespace rlock {

// Appends the character with the number `c` to `text`. Returns false and appends nothing if `c` is
// NUL or no character's number.
[[nodiscard]] bool append_utf8(std::string& text, std::uint32_t c);

}  // namespace rlock
