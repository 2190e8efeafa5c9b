// Percent-encoding, as in URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock {

// Returns `text` with each %NN replaced by its byte. Returns nothing if two hexadecimal digits do
// not follow a %.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

// Returns `bytes` with every byte but letters, digits and `-._~:` written as %NN.
[[nodiscard]] std::string percent_encode(std::string_view bytes);

}  // namespace rlock
