// Words for a shell's command line.
#pragma once

#include <string>
#include <string_view>

namespace rlock {

// Returns `word` such that a shell reads it as one word, and harmless for a terminal: bytes that
// are not need a shell that knows $'...', as bash and zsh do.
[[nodiscard]] std::string shell_quote(std::string_view word);

}  // namespace rlock
