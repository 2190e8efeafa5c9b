// Lock names that CLI11 would read as something else: "[a,b]" as a list, "++" as an end of words.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rlock::cli {

// Marks the positional words behind the command's name in `words`, where CLI11 would misread them.
// `app` and `command` have the options by which positional words are told from options' values.
void protect_positionals(std::vector<std::string>& words, const CLI::App& app,
                         const CLI::App& command);

// Takes the marks off what `option` is given.
void unprotect(CLI::Option& option);

}  // namespace rlock::cli
