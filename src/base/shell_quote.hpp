// Words for a shell's command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rlock {

// Returns `word` such that a shell reads it as one word, and harmless for a terminal: bytes that
// are not need a shell that knows $'...', as bash and zsh do.
[[nodiscard]] std::string shell_quote(std::string_view word);

// Returns `word` such that every POSIX shell, and zsh, reads it as one word, whatever its bytes
// are: for a shell, not for a terminal.
[[nodiscard]] std::string posix_quote(std::string_view word);

// Returns `word` such that fish reads it as one word, whatever its bytes are, and as one line.
[[nodiscard]] std::string fish_quote(std::string_view word);

// Returns `words` quoted by shell_quote, with spaces between them, as the last words of a command:
// behind "--" where one of them looks like an option.
[[nodiscard]] std::string shell_operands(const std::vector<std::string_view>& words);

}  // namespace rlock
