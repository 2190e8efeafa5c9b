// The width of a text on a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rlock {

// Returns the number of columns of a line of UTF-8. Wide characters take two. Combining characters
// and changes of colour ("\x1b[31m") take none. Apart from these, `text` must already be harmless
// for a terminal (escape_for_terminal).
[[nodiscard]] std::size_t display_width(std::string_view text);

// Returns `text` if it fits into `columns`. Else cuts it, adds "…", and ends a colour.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);

// Returns `text` as lines with `indent` spaces before each. If `columns` is given, breaks lines
// that are wider, between words. A word that is wider than a line is cut.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t indent,
                               std::optional<std::size_t> columns);

}  // namespace rlock
