// How much room a text takes on a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rlock {

// Returns how many columns a line of UTF-8 takes: wide characters take two, combining ones none,
// nor does a change of colour ("\x1b[31m"). But for these, `text` must be harmless for a terminal
// already (escape_for_terminal).
[[nodiscard]] std::size_t display_width(std::string_view text);

// Returns `text` if it fits into `columns`, or as much of it as leaves room for a closing "…".
// A colour ends there.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);

// Returns `text` as lines with `indent` spaces before each, broken between words where it is wider
// than `columns`, if that is given; a word that is wider than a line is cut.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t indent,
                               std::optional<std::size_t> columns);

}  // namespace rlock
