#include "cli/app.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/shell_quote.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/error_text.hpp"
#include "cli/parsing/given_options.hpp"
#include "cli/parsing/literal_words.hpp"
#include "cli/taking/exported.hpp"
#include "redis/tls_module.hpp"

namespace rlock::cli {
namespace {

struct Entry {
  const char* name;
  const char* description;
  Action (*set_up)(OptionSet command, const Invocation& invocation);
  bool is_for_locks = false;  // for those that the command line names
};

constexpr std::array k_commands = {
    Entry{"exec", "Hold locks while a command runs", set_up_exec, true},
    Entry{"acquire", "Take a lock for a shell, and renew it in the background", set_up_acquire,
          true},
    Entry{"renew", "Extend a lease once", set_up_renew, true},
    Entry{"unlock", "Release one hold of a lock, or break the lock", set_up_unlock, true},
    Entry{"evict", "Take a waiter out of the queue of a fair lock", set_up_evict, true},
    Entry{"fence", "Check a fencing token", set_up_fence, true},
    Entry{"inspect-queue", "Show the holders, the waiters and the raw state of a lock",
          set_up_inspect_queue},
    Entry{"list", "Show the locks on the server, one a line", set_up_list},
    Entry{"watch", "Follow locks live", set_up_watch},
    Entry{"doctor", "Find and repair problems of the server and its locks", set_up_doctor},
    Entry{"config", "Show the settings and their sources", set_up_config},
    Entry{"completion", "Print the completion for a shell", set_up_completion},
    Entry{"__complete", "", set_up_complete},  // for the completions, and in no help text
};

bool is_command(const std::string& word) {
  return std::ranges::find(k_commands, word, &Entry::name) != k_commands.end();
}

// Returns the names of the locks that the command line asks for.
std::vector<std::string> locks_of(const CLI::App& command) {
  const auto* const entry = std::ranges::find(k_commands, command.get_name(), &Entry::name);
  if (!entry->is_for_locks) return {};
  return command.get_option("NAME")->as<std::vector<std::string>>();
}

bool is_option(const std::string& word) { return word.starts_with('-'); }

// Returns the index of the first word that is a command's name, and no global option's value; or
// the number of words. No command follows "--".
std::size_t find_command(const CLI::App& app, const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && !is_command(words[at])) {
    if (words[at] == "--") return words.size();
    at += takes_next_word(words[at], app, app) ? 2 : 1;
  }
  return std::min(at, words.size());
}

// Removes the words from the first `--` after "exec" on from `words`, and returns those after it.
// They belong to the command, so rlock must find no option in them.
std::optional<std::vector<std::string>> split_command(std::vector<std::string>& words,
                                                      std::size_t exec_at) {
  const auto dashes =
      std::find(words.begin() + static_cast<std::ptrdiff_t>(exec_at), words.end(), "--");
  if (dashes == words.end()) return std::nullopt;
  std::vector<std::string> command(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return command;
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return quote_input(text);
}

// Words that other tools, and other programs for locks, have in the place of a command of rlock.
struct Synonym {
  std::string_view word;
  const char* meant;
};
constexpr std::array k_synonyms = {
    Synonym{"lock", "'exec' or 'acquire'"},
    Synonym{"flock", "'exec'"},
    Synonym{"run", "'exec'"},
    Synonym{"with", "'exec'"},
    Synonym{"hold", "'exec' or 'acquire'"},
    Synonym{"take", "'exec' or 'acquire'"},
    Synonym{"get", "'acquire', or 'inspect-queue' to look at a lock"},
    Synonym{"extend", "'renew'"},
    Synonym{"refresh", "'renew'"},
    Synonym{"release", "'unlock'"},
    Synonym{"free", "'unlock'"},
    Synonym{"break", "'unlock --force'"},
    Synonym{"rm", "'unlock --force'"},
    Synonym{"del", "'unlock --force'"},
    Synonym{"kick", "'evict'"},
    Synonym{"ls", "'list'"},
    Synonym{"locks", "'list'"},
    Synonym{"ps", "'list'"},
    Synonym{"status", "'inspect-queue' for one lock, or 'list' for all"},
    Synonym{"inspect", "'inspect-queue'"},
    Synonym{"queue", "'inspect-queue'"},
    Synonym{"show", "'inspect-queue'"},
    Synonym{"info", "'inspect-queue'"},
    Synonym{"who", "'inspect-queue'"},
    Synonym{"tail", "'watch'"},
    Synonym{"follow", "'watch'"},
    Synonym{"monitor", "'watch'"},
    Synonym{"wait", "'watch --until free'"},
    Synonym{"check", "'doctor'"},
    Synonym{"repair", "'doctor --repair'"},
    Synonym{"token", "'fence'"},
    Synonym{"settings", "'config'"},
    Synonym{"complete", "'completion'"},
    Synonym{"version", "'--version'"},
};

// Returns what is written most like `word`, in quotes, or "": an option of `command`, a global
// option or, if `word` is in the place of a command, a command.
std::string nearest_known(const CLI::App& app, const CLI::App& command, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* of : {&app, &command}) {
    for (const CLI::Option* option : of->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (name.size() > 2) known.push_back("--" + name);  // --db is not --nb
      }
    }
  }
  if (&app == &command && !is_option(word)) {
    for (const Entry& entry : k_commands) {
      if (*entry.description != '\0') known.emplace_back(entry.name);
    }
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  const auto near = nearest_word(word, views);
  return near ? "'" + std::string(*near) + "'" : "";
}

// Returns "rlock exec" with `words`, which begin with the name of a lock, in quotes; or "" if they
// name no command to run. Of such a command, only the first word is shown.
std::string as_exec(const std::vector<std::string>& words) {
  const auto dashes = std::ranges::find(words, "--");
  auto end = words.end();  // of the words that are shown
  if (words.end() - dashes >= 2) {
    end = dashes + 2;
  } else if (words.size() >= 3 && words[1] == "-c") {
    end = words.begin() + 3;
  } else if (words.size() >= 2 && !is_option(words[1])) {
    end = words.begin() + 2;
  } else {
    return "";
  }
  std::vector<std::string> shown(words.begin(), end);
  if (shown.size() == 2) shown.insert(shown.begin() + 1, "--");
  std::string line = "'rlock exec";
  for (const std::string& word : shown) line += " " + quote_input(shell_quote(word));
  return line + (end == words.end() ? "'" : " ...'");
}

// Returns a guess at what `word` means: an option of `command`, a global option, or a command.
// `words`: the whole command line.
std::string suggestion(const CLI::App& app, const CLI::App& command, const std::string& word,
                       const std::vector<std::string>& words) {
  std::string guess = nearest_known(app, command, word);
  if (&app == &command && !is_option(word)) {
    const auto* const synonym = std::ranges::find(k_synonyms, word, &Synonym::word);
    if (synonym != k_synonyms.end()) guess = synonym->meant;
    const auto dashes = std::ranges::find(words, "--");
    const bool has_command = words.end() - dashes >= 2;
    if (guess.empty() || (has_command && !guess.starts_with("'exec'"))) {
      guess = as_exec({std::ranges::find(words, word), words.end()});
    }
  }
  return guess.empty() ? "" : "; did you mean " + guess + "?";
}

// Returns what a user of flock(1) should know about this option, which exec and acquire do not
// have. Only exec has a CMD.
std::string advice_for_flock(const std::string& option, bool is_exec) {
  if (option == "-o" || option == "--close") {
    return is_exec ? "is not needed: CMD gets no descriptor of the lock, and no process that CMD "
                     "leaves keeps the lock"
                   : "is not needed: the lock has no descriptor that a process could inherit";
  }
  if (option == "-F" || option == "--no-fork") {
    return is_exec ? "is not possible: rlock has to run beside CMD, to renew the lock"
                   : "is not possible: a background process has to renew the lock";
  }
  if (option == "-e") return "is not needed: a lock without -s is exclusive";
  if (option == "--command" && is_exec) return "is called -c: give -c STRING instead of '-- CMD'";
  if (option == "-u" || option == "--unlock") return "is a command of its own: rlock unlock";
  return "";
}

// Returns what the parser says, in plain words where it counts values or lists those that can be.
std::string in_words(const std::string& text) {
  constexpr std::string_view k_too_often = ": At Most 1 required but received ";
  if (const std::size_t at = text.find(k_too_often); at != std::string::npos) {
    const std::string count = text.substr(at + k_too_often.size());
    return one_line(text.substr(0, at) + ": given " + (count == "2" ? "twice" : count + " times"));
  }
  constexpr std::string_view k_unknown = " not in {";
  const std::size_t colon = text.find(": ");
  if (const std::size_t at = text.rfind(k_unknown);
      colon < at && at != std::string::npos && text.ends_with('}')) {
    std::string known = text.substr(at + k_unknown.size());
    known.pop_back();
    const std::size_t last = known.rfind(',');
    std::string list;
    for (std::size_t i = 0; i < known.size(); ++i) {
      list += known[i] != ',' ? std::string(1, known[i]) : i == last ? " or " : ", ";
    }
    return one_line(text.substr(0, colon) + ": '" + text.substr(colon + 2, at - colon - 2) +
                    "'; expected " + list);
  }
  constexpr std::string_view k_lacks = ": 1 required ";
  constexpr std::string_view k_end = " missing";
  const std::size_t at = text.find(k_lacks);
  if (at == std::string::npos || !text.ends_with(k_end)) return one_line(text);
  const std::string value = text.substr(at + k_lacks.size());
  return one_line(text.substr(0, at) + ": " + value.substr(0, value.size() - k_end.size())) +
         " is missing";
}

// Returns the command that has this option, exec if several have it; or nothing.
const CLI::App* command_with(const CLI::App& app, const std::string& option) {
  const auto has_option = [&](const CLI::App* command) {
    return command->get_option_no_throw(option) != nullptr;
  };
  const auto commands = app.get_subcommands(has_option);
  return commands.empty() ? nullptr : commands.front();
}

// Returns what is wrong with `extra`, a word that the parser does not know.
std::string describe_extra(const CLI::App& app, const CLI::App& chosen, const std::string& extra,
                           const std::vector<std::string>& words) {
  const std::string name =
      extra.starts_with("--") ? extra.substr(0, extra.find('=')) : extra.substr(0, 2);
  const bool is_chosen = &chosen != &app;
  if (!is_option(extra)) {
    return "unknown command '" + one_line(extra) + "'" + suggestion(app, chosen, extra, words);
  }
  const CLI::App* const owner = is_chosen ? &chosen : command_with(app, name);
  if (owner != nullptr && owner->get_option_no_throw(name) != nullptr) {
    return "'" + one_line(name) + "' is an option of " + owner->get_name() + ": put it after '" +
           owner->get_name() + "'";
  }
  if (extra.starts_with("-=")) return "'" + one_line(extra.substr(1)) + "': a flag takes no value";
  const bool is_exec = chosen.get_name() == "exec";
  const bool takes_lock = is_exec || chosen.get_name() == "acquire";
  const std::string advice = takes_lock ? advice_for_flock(name, is_exec) : "";
  if (!advice.empty()) return chosen.get_name() + ": '" + name + "' " + advice;
  return "unknown option '" + one_line(extra) + "'" +
         suggestion(app, chosen, extra.substr(0, extra.find('=')), words);
}

// Returns what is wrong with the first flag that was given a value.
std::string describe_flag(const CLI::App& app, const CLI::App& chosen,
                          const std::vector<std::string>& words) {
  const auto found = std::ranges::find_if(words, [&](const std::string& word) {
    const std::size_t equals = word.find('=');
    return word.starts_with("--") && equals != std::string::npos &&
           !takes_next_word(word.substr(0, equals), app, chosen);
  });
  return found == words.end() ? "a flag takes no value"
                              : "'" + one_line(*found) + "': this flag takes no value";
}

[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error,
                         const std::vector<std::string>& words) {
  const auto commands = app.get_subcommands();
  const CLI::App& chosen = commands.empty() ? app : *commands.front();
  const std::string help =
      " (see rlock " + (commands.empty() ? "" : chosen.get_name() + " ") + "--help)";
  const auto extras = app.remaining(true);
  const auto extra = commands.empty() ? extras.begin() : std::ranges::find_if(extras, is_option);
  if (extra != extras.end()) {
    throw Error(ExitStatus::usage, describe_extra(app, chosen, *extra, words) + help);
  }
  const bool is_surplus = dynamic_cast<const CLI::ExtrasError*>(&error) && !extras.empty();
  const bool is_of_flag = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  const std::string why = is_surplus
                              ? "too many arguments: '" + one_line(extras.front()) + "' is one"
                          : is_of_flag ? describe_flag(app, chosen, words)
                                       : in_words(error.what());
  throw Error(ExitStatus::usage, why + help);
}

std::string version() {
  return std::string("rlock " RLOCK_VERSION " (") + (redis::has_tls_module() ? "with" : "without") +
         " TLS)";
}

// A command line, as a parser that knows only the `given` options understands it.
class CommandLine {
 public:
  // Throws CLI::ParseError if an option lacks another one.
  CommandLine(std::vector<std::string> words, GivenOptions given)
      : given_(std::move(given)), words_(std::move(words)) {
    OptionSet options(app_, given_);
    options.set_usage("rlock [GLOBAL] COMMAND [OPTIONS] ...");
    if (given_.has_all()) app_.set_help_flag("-h,--help", "Print help and exit");
    if (given_.has_any_of("-V,--version")) {
      app_.set_version_flag("-V,--version", version, "Print the version and exit");
    }
    app_.require_subcommand(1);
    app_.fallthrough();
    invocation_->globals.add_to(options);
    const std::size_t chosen_at = find_command(app_, words_);
    if (chosen_at < words_.size()) chosen_ = words_[chosen_at];
    // For another command, "exec" may be a lock's name.
    if (chosen_ == "exec") invocation_->command = split_command(words_, chosen_at);
    for (const Entry& entry : k_commands) add_command(entry);
  }

  [[nodiscard]] const CLI::App& app() const { return app_; }

  // Returns the action that it asks for. Throws CLI::ParseError.
  std::function<int()> parse() {
    std::vector<std::string> words = words_;
    if (chosen_command_ != nullptr) protect_words(words, app_, *chosen_command_);
    std::ranges::reverse(words);  // CLI11 takes them from the back
    app_.parse(words);
    const CLI::App& command = *app_.get_subcommands().front();
    // The action refers to the invocation, so they live and die together.
    return [invocation = invocation_, action = actions_.at(command.get_name()),
            locks = locks_of(command)] {
      try {
        const int status = action();
        for (const std::string& text : unreachable_server_changes(invocation->globals)) say(text);
        return status;
      } catch (const Error& error) {
        throw Error(error.status(), describe_error(error, invocation->globals, locks));
      }
    };
  }

  // Prints code for the shell that is to evaluate the output, if there is one.
  void print_failure() const {
    std::optional<Shell> evaluator;
    for (const std::string& word : words_) {
      if (chosen_ != "acquire" || word.substr(0, word.find('=')) != "--export") continue;
      evaluator = word == "--export=fish" ? Shell::fish : Shell::posix;
    }
    if (evaluator) print(failure_code(static_cast<int>(ExitStatus::usage), *evaluator));
  }

 private:
  void add_command(const Entry& entry) {
    const bool is_mentioned = std::ranges::find(words_, entry.name) != words_.end();
    if (!is_mentioned && !given_.has_all()) return;
    CLI::App* command = app_.add_subcommand(entry.name, entry.description);
    if (*entry.description == '\0') command->group("");
    if (chosen_ == entry.name) chosen_command_ = command;
    if (is_mentioned || given_.has_all()) {
      actions_[entry.name] = entry.set_up(OptionSet(*command, given_), *invocation_);
    }
  }

  GivenOptions given_;
  std::vector<std::string> words_;  // of exec, those before `--`
  CLI::App app_{"Locks for a fleet of machines, on Redis or Valkey, in Redisson's format.",
                "rlock"};
  std::shared_ptr<Invocation> invocation_ = std::make_shared<Invocation>();
  std::string chosen_;  // the command, or empty
  const CLI::App* chosen_command_ = nullptr;
  std::map<std::string, Action> actions_;
};

// Replaces "help exec" by "exec --help".
void expand_help(std::vector<std::string>& words) {
  if (words.empty() || words[0] != "help") return;
  words.erase(words.begin());
  if (words.size() > 1) {
    throw Error(ExitStatus::usage, "help: expected one command (see rlock --help)");
  }
  if (words == std::vector<std::string>{"help"}) words.clear();
  if (words.empty() || is_command(words[0])) words.emplace_back("--help");
}

Action print_later(const std::string& text) {
  return [text] {
    print(text);
    return 0;
  };
}

}  // namespace

std::function<int()> parse(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  expand_help(words);
  // To set up every option would take as many instructions as all else in a short run.
  try {
    return CommandLine(words, GivenOptions(words)).parse();
  } catch (const CLI::ParseError&) {  // help texts and messages also name options that nobody gave
  }
  CommandLine line(words, GivenOptions());
  if (words.empty()) {
    write_stderr(line.app().help());
    return [] { return static_cast<int>(ExitStatus::usage); };
  }
  try {
    return line.parse();
  } catch (const CLI::CallForHelp& call) {
    const auto extras = line.app().remaining(true);
    const bool is_unknown = line.app().get_subcommands().empty() && !extras.empty();
    if (is_unknown && !is_option(extras.front())) refuse(line.app(), call, words);
    return print_later(line.app().help());
  } catch (const CLI::CallForVersion& call) {
    return print_later(std::string(call.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    line.print_failure();
    refuse(line.app(), error, words);
  }
}

}  // namespace rlock::cli
