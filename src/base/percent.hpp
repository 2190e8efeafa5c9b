// Percent-encoding, as in URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock {

// Returns `text` with each %NN replaced by its byte, or nothing if a % is not followed by two
// hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

// Returns `bytes` with everything but letters, digits and `-._~:` written as %NN.
[[nodiscard]] std::string percent_encode(std::string_view bytes);

}  // namespace rlock
