// Guesses what a user meant whose text is not the URL of a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock::redis {

// Returns a hint about `text`, such as "put redis:// in front of it", or nothing. The hint
// does not contain the text, because it may be a password.
[[nodiscard]] std::optional<std::string> url_hint(std::string_view text);

}  // namespace rlock::redis
