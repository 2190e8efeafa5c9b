// Percent-encoding, as in URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock {

// Returns `text` with each %NN replaced by its byte, or nothing if a % lacks two digits.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

// Returns `bytes` with every byte but letters, digits and those of `plain` written as %NN.
[[nodiscard]] std::string percent_encode(std::string_view bytes, std::string_view plain = "-._~:");

}  // namespace rlock
