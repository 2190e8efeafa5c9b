// rlock unlock: gives one hold back, or breaks the lock.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/literal_words.hpp"
#include "cli/message.hpp"
#include "cli/question.hpp"
#include "cli/status_line.hpp"
#include "lock/breaking.hpp"
#include "lock/held.hpp"
#include "lock/reentrant.hpp"

namespace rlock::cli {
namespace {

using lock::Holder;
using lock::Standing;

constexpr std::size_t k_most_named = 3;  // holders in a question

struct UnlockOptions {
  std::string name;
  std::optional<std::string> owner;
  std::string kind;
  bool force = false;
  bool yes = false;
};

std::string find_owner(const UnlockOptions& options) {
  if (options.owner) return *options.owner;
  const char* held = std::getenv(lock::k_held_variable);
  const auto entry = lock::find_held(held == nullptr ? "" : held, options.name);
  if (entry) return entry->owner;
  throw Error(ExitStatus::usage, "unlock: whose hold? expected --owner ID or --force");
}

int not_held(const Globals& globals, const std::string& text) {
  if (!globals.quiet) say(text);
  return static_cast<int>(ExitStatus::not_held);
}

std::optional<std::string> held_for(const Standing& standing, const Holder& holder) {
  if (!holder.since_ms) return std::nullopt;
  const std::int64_t span = std::max<std::int64_t>(standing.time_ms - *holder.since_ms, 0);
  return format_duration(Milliseconds(span));
}

std::string describe(const Holder& holder) {
  return describe_holder(holder.owner, holder.about.value_or(lock::About{}));
}

// Returns the first holders, such as "web1 pid 4242 (backup) for 3m and web2 pid 7 (cat)".
std::string name_holders(const Standing& standing) {
  std::string text;
  for (std::size_t i = 0; i < std::min(standing.holders.size(), k_most_named); ++i) {
    text += (i == 0 ? "" : " and ") + describe(standing.holders[i]);
    if (const auto span = held_for(standing, standing.holders[i])) text += " for " + *span;
  }
  if (standing.holders.size() > k_most_named) {
    text += " and " + std::to_string(standing.holders.size() - k_most_named) + " more";
  }
  return text;
}

std::string describe_waiters(const Standing& standing) {
  std::string text;
  if (standing.queued > 0) text += ", " + std::to_string(standing.queued) + " waiting";
  if (standing.listening > 0) text += ", " + std::to_string(standing.listening) + " listening";
  return text;
}

bool is_to_be_broken(const std::string& name, const Standing& standing) {
  const std::string ttl = standing.ttl_ms < 0
                              ? "without an expiry"
                              : "expires in " + format_duration(Milliseconds(standing.ttl_ms));
  return confirms(name + ": held by " + name_holders(standing) + ", " + ttl +
                  describe_waiters(standing) + ". Break it?");
}

void tell_loss(const std::string& name, const Standing& standing) {
  for (const Holder& holder : standing.holders) {
    std::string text = name + ": taken from " + describe(holder);
    if (holder.about && !holder.about->host.empty()) {
      text += ", owner " + escape_for_terminal(holder.owner);
    }
    if (holder.about && !holder.about->user.empty()) {
      text += ", user " + escape_for_terminal(holder.about->user);
    }
    if (const auto span = held_for(standing, holder)) text += ", held for " + *span;
    if (holder.mode == Holder::Mode::read) text += ", a reader";
    if (holder.mode == Holder::Mode::write) text += ", the writer";
    say(text);
  }
}

int break_lock(const Globals& globals, const UnlockOptions& options) {
  const std::string name = escape_for_terminal(options.name);
  const auto what = options.kind == "simple" ? lock::Breakable::simple : lock::Breakable::lock;
  redis::ClientOptions client_options = globals.client_options();
  client_options.reply_limit = redis::k_large_reply;
  redis::Client client(client_options);

  std::optional<std::vector<std::string>> shown;
  if (!options.yes && can_ask()) {
    const Standing standing = lock::look_at(client, options.name, what);
    shown.emplace();
    for (const Holder& holder : standing.holders) shown->push_back(holder.owner);
    if (!standing.holders.empty() && !is_to_be_broken(name, standing)) {
      return not_held(globals, name + ": left as it is");
    }
  }
  const lock::Breaking result = lock::break_lock(client, options.name, what, shown);
  if (result.outcome == lock::Breaking::Outcome::held_by_others) {
    say(name + ": now held by " + name_holders(result.found) + "; left as it is");
    return static_cast<int>(ExitStatus::not_held);
  }
  const std::string waiters = describe_waiters(result.found);
  const std::string woken = waiters.empty() ? "nobody seems to wait" : "woke its waiters" + waiters;
  if (result.outcome == lock::Breaking::Outcome::free) {
    return not_held(globals, name + ": not held by anybody; " + woken);
  }
  if (globals.verbose) say(name + ": " + woken);
  if (!globals.quiet) tell_loss(name, result.found);
  return 0;
}

int run_unlock(const Globals& globals, const UnlockOptions& options) {
  lock::check_name(options.name);
  if (options.force) return break_lock(globals, options);
  const std::string owner = find_owner(options);
  lock::ReentrantLock lock(options.name, owner, {}, lock::k_default_lease);
  redis::Client client(globals.client_options());
  if (lock.release(client) == lock::Release::not_held) {
    return not_held(
        globals, escape_for_terminal(options.name) + ": not held by " + escape_for_terminal(owner));
  }
  return 0;
}

}  // namespace

Action set_up_unlock(CLI::App& command, const Invocation& invocation) {
  const auto options = std::make_shared<UnlockOptions>();
  set_usage(command, "rlock unlock [--owner ID | --force [OPTIONS]] NAME");
  unprotect(*command.add_option("NAME", options->name, "Name of the lock")->required());
  CLI::Option* owner =
      command.add_option("--owner", options->owner, "Who holds it [RLOCK_HELD]")->type_name("ID");
  CLI::Option* force =
      command.add_flag("--force", options->force, "Break the lock and wake the waiters")
          ->excludes(owner);
  command.add_flag("-y,--yes", options->yes, "Do not ask before breaking it")->needs(force);
  command.add_option("--kind", options->kind, "Break a string, which may be no lock at all")
      ->type_name("KIND")
      ->check(CLI::IsMember({"simple"}))
      ->needs(force);
  return [&invocation, options] { return run_unlock(invocation.globals, *options); };
}

}  // namespace rlock::cli
