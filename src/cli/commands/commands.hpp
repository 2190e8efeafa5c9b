// The commands of rlock, and how their options are set up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/settings/globals.hpp"
#include "cli/terminal/message.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rlock::cli {

// The content of the command line, except the options of one command.
struct Invocation {
  Globals globals;
  std::optional<std::vector<std::string>> command;  // the words after `--` of exec
  bool has_options = true;                          // a word before `--` starts with '-'
};

// Runs a command. Returns the status to exit with. Throws Error.
using Action = std::function<int()>;

// Each sets up the options of a command and returns its action, which refers to `invocation`.
[[nodiscard]] Action set_up_exec(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_acquire(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_renew(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_unlock(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_evict(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_fence(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_inspect_queue(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_list(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_doctor(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_watch(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_config(CLI::App& command, const Invocation& invocation);
[[nodiscard]] Action set_up_complete(CLI::App& command, const Invocation& invocation);

// Says `text`, unless -q is given. Returns the exit status for a lock that is not held.
[[nodiscard]] inline int not_held(const Globals& globals, const std::string& text) {
  if (!globals.quiet) say(text);
  return static_cast<int>(ExitStatus::not_held);
}

// Sets the usage line of `command`'s help, such as "rlock exec [OPTIONS] NAME... -- CMD", and the
// examples at its end. Each line of `examples` must end with '\n'.
void set_usage(CLI::App& command, const std::string& usage, const std::string& examples = "");

// Returns whether the value of the options in `word` is the next word.
[[nodiscard]] bool takes_next_word(const std::string& word, const CLI::App& app,
                                   const CLI::App& command);
// CLI11 would misread some words: the name "[a,b]" as a list, "++" as the end of words, and behind
// "--note=" the next word as the value. Marks such names in `words`, and makes two words of such an
// option. The options of `app` and `command` show which words are values of options.
void protect_words(std::vector<std::string>& words, const CLI::App& app, const CLI::App& command);
// Makes `option` remove the marks from its values.
void unprotect(CLI::Option& option);

}  // namespace rlock::cli
