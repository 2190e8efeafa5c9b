// Words of a command line that CLI11 would misread: the name "[a,b]" as a list, "++" as the end of
// words, and after "--note=" the next word as the value.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rlock::cli {

// Returns whether the value of the options in `word` is the next word.
[[nodiscard]] bool takes_next_word(const std::string& word, const CLI::App& app,
                                   const CLI::App& command);
// Marks such names in `words`, and makes two words of such an option. The options of `app` and
// `command` show which words are values of options.
void protect_words(std::vector<std::string>& words, const CLI::App& app, const CLI::App& command);
// Makes `option` remove the marks from its values.
void unprotect(CLI::Option& option);

}  // namespace rlock::cli
