// Quotes words for a shell's command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rlock {

// Quotes `word` so that a shell reads it as one word. The result is harmless for a terminal. If the
// word itself is not harmless, the result needs a shell that knows $'...', such as bash and zsh.
// No shell can pass a NUL byte on: of a word with one, the result is just that byte, which a
// command must not be shown with.
[[nodiscard]] std::string shell_quote(std::string_view word);

// Quotes `word` so that every POSIX shell, and zsh, reads it as one word, whatever its bytes are.
// The result may be harmful for a terminal.
[[nodiscard]] std::string posix_quote(std::string_view word);

// Quotes `word` so that fish reads it as one word, whatever its bytes are. The result is one line.
[[nodiscard]] std::string fish_quote(std::string_view word);

// Returns `words` as the last words of a command: quoted by shell_quote, separated by spaces, and
// after "--" if one of them looks like an option.
[[nodiscard]] std::string shell_operands(const std::vector<std::string_view>& words);

}  // namespace rlock
