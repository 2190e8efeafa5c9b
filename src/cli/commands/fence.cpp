// rlock fence: checks a fencing token for scripts.

#include <memory>

#include "base/escape.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "lock/servers/fencing.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/token.hpp"

namespace rlock::cli {
namespace {

struct FenceOptions {
  std::string name;
  std::string token;
};

const char* code_of(lock::TokenCheck::Verdict verdict) {
  using Verdict = lock::TokenCheck::Verdict;
  switch (verdict) {
    case Verdict::accepted:
      return "accepted";
    case Verdict::stale:
      return "stale";
    case Verdict::not_drawn:
      return "not_drawn";
    case Verdict::no_counter:
      break;
  }
  return "no_counter";
}

// Returns why the token does not count.
std::string describe(const lock::TokenCheck& check) {
  using Verdict = lock::TokenCheck::Verdict;
  const std::string highest = escape_for_terminal(check.highest);
  if (check.verdict == Verdict::stale) return "is stale: the highest so far is " + highest;
  if (check.verdict == Verdict::not_drawn) {
    return "was never drawn: the highest so far is " + highest +
           ", unless the server has lost newer data";
  }
  return "is unknown: no token was drawn for this lock, or the server has lost its data since";
}

int run_fence(const Globals& globals, const FenceOptions& options) {
  const std::string& name = options.name;
  lock::check_name(name);
  const auto token = lock::parse_token(options.token);
  if (!token) {
    throw Error(ExitStatus::usage, "fence: '" + quote_input(options.token) +
                                       "' is not a token; expected a number from 0 to 2^63-1");
  }
  lock::Session session(globals.session_options());
  const lock::TokenCheck check = lock::check_token(session, name, *token);
  const bool is_refused = check.verdict != lock::TokenCheck::Verdict::accepted;
  if (globals.json) {
    print(to_line({{"name", to_utf8(name)},
                   {"token", *token},
                   {"highest", value_or_null(lock::parse_token(check.highest))},
                   {"stale", is_refused},
                   {"verdict", code_of(check.verdict)}}));
  } else if (is_refused && !globals.quiet) {
    say(escape_for_terminal(name) + ": token " + std::to_string(*token) + " " + describe(check));
  }
  return is_refused ? static_cast<int>(ExitStatus::stale) : 0;
}

}  // namespace

Action set_up_fence(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<FenceOptions>();
  command.set_usage("rlock fence [OPTIONS] NAME TOKEN");
  command.add_argument("NAME", &options->name, "Name of the lock");
  command.add_argument("TOKEN", &options->token, "The token, such as $RLOCK_TOKEN");
  return [&invocation, options] { return run_fence(invocation.globals, *options); };
}

}  // namespace rlock::cli
