// Protects lock names that CLI11 would misread: "[a,b]" as a list, "++" as the end of words.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rlock::cli {

// Marks the positional words after the command's name in `words` that CLI11 would misread. The
// options of `app` and `command` show which words are values of options.
void protect_positionals(std::vector<std::string>& words, const CLI::App& app,
                         const CLI::App& command);

// Makes `option` remove the marks from its values.
void unprotect(CLI::Option& option);

}  // namespace rlock::cli
