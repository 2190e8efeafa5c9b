// What somebody meant who wrote something else than a server's URL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock::redis {

// Returns what to tell who has written `text` for a URL, such as "is redis:// meant in front of
// it?", or nothing. Does not repeat the text: it may be a password.
[[nodiscard]] std::optional<std::string> url_hint(std::string_view text);

}  // namespace rlock::redis
