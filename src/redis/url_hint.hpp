// What somebody meant who wrote something else than a server's URL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock::redis {

// Returns what to tell who has written `text` for a URL, such as "is 'redis://web1:7391' meant?",
// or nothing. Repeats nothing that could be a password, or harm a terminal.
[[nodiscard]] std::optional<std::string> url_hint(std::string_view text);

}  // namespace rlock::redis
