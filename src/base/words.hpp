// Splits texts, and joins them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rlock {

// Returns the words of `text`, which white space separates.
[[nodiscard]] std::vector<std::string> words(const std::string& text);

// Returns the parts of `text`, with a `separator` between two of them. They are views of `text`.
// After the last separator, there is only a part that is not empty.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// Returns the parts as one text, with `separator` between two of them.
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace rlock
