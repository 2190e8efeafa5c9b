// rlock unlock: gives one hold back, or breaks the lock.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/error_text.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/taking/own_hold.hpp"
#include "lock/inspection/force_release.hpp"
#include "lock/make_lock.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

using lock::FoundLock;
using lock::Holder;

constexpr std::size_t k_most_named = 3;  // holders in a question

struct UnlockOptions {
  std::string name;
  std::optional<std::string> owner;
  std::string kind;
  bool force = false;
  bool yes = false;
};

std::optional<std::string> held_for(const FoundLock& found, const Holder& holder) {
  if (!holder.since_ms) return std::nullopt;
  const std::int64_t span = std::max<std::int64_t>(found.time_ms - *holder.since_ms, 0);
  return format_age(Milliseconds(span));
}

std::string describe(const FoundLock& found, const Holder& holder) {
  return describe_holder(
      found.ambiguity == lock::Ambiguity::string ? lock::start_of(holder.owner) : holder.owner,
      holder.about);
}

// Returns the first holders, such as "held by web1 pid 4242 (backup) for 3m and web2 pid 7 (cat)".
std::string name_holders(const FoundLock& found) {
  std::string text = if_lock(found.ambiguity);
  std::string verb = "held by ";
  for (std::size_t i = 0; i < std::min(found.holders.size(), k_most_named); ++i) {
    const Holder& holder = found.holders[i];
    text += i == 0 ? "" : " and ";
    if (const auto kept = describe_kept(holder.owner, holder.about)) {
      text += *kept;
      continue;
    }
    text += std::exchange(verb, "") + describe(found, holder);
    if (const auto span = held_for(found, holder)) text += " for " + *span;
  }
  if (found.holders.size() > k_most_named) {
    text += " and " + std::to_string(found.holders.size() - k_most_named) + " more";
  }
  return text;
}

std::string describe_waiters(const FoundLock& found) {
  std::string text;
  if (found.queued > 0) text += ", " + std::to_string(found.queued) + " waiting";
  if (found.listening.value_or(0) > 0) {
    text += ", " + std::to_string(*found.listening) + " listening";
  }
  return text;
}

std::string describe_woken(const FoundLock& found) {
  const std::string waiters = describe_waiters(found);
  if (!waiters.empty()) return "woke its waiters" + waiters;
  return found.listening
             ? "nobody seems to wait"
             : "notified any waiters; how many is unknown: this user is not allowed to run PUBSUB";
}

// Returns the end of a sentence about the lock on this server.
std::string on(const redis::ClientOptions& server) {
  return " (" + server.endpoint.display() + ")";
}

void tell_loss(const std::string& name, const FoundLock& found,
               const redis::ClientOptions& server) {
  for (const Holder& holder : found.holders) {
    const lock::About& about = holder.about;
    const bool is_over = about.kept_until_ms != 0;
    std::string text =
        name + ": taken from " + (is_over ? "the ended run of " : "") + describe(found, holder);
    if (!about.host.empty()) text += ", owner " + escape_for_terminal(holder.owner);
    if (!about.user.empty()) text += ", user " + escape_for_terminal(about.user);
    if (const auto span = held_for(found, holder)) text += ", held for " + *span;
    if (holder.mode == Holder::Mode::read) text += ", a reader";
    if (holder.mode == Holder::Mode::write) text += ", the writer";
    say(text + on(server));
  }
}

// What a person who was asked has allowed on a server.
struct Leave {
  redis::ClientOptions server;
  bool is_given = true;
  std::optional<std::vector<std::string>> shown{};  // the owners; nothing where nobody was asked
};

lock::ForceReleaseTarget what_to_break(const UnlockOptions& options) {
  if (options.kind == "simple") return lock::ForceReleaseTarget::simple;
  return options.kind == "hash" ? lock::ForceReleaseTarget::hash : lock::ForceReleaseTarget::lock;
}

Leave ask_leave(const redis::ClientOptions& server, const UnlockOptions& options) {
  Leave leave{server};
  // The field of a writer is its owner with this after it.
  if (options.owner) leave.shown = {*options.owner, *options.owner + ":write"};
  if (options.yes) return leave;
  redis::Client client(server);
  const FoundLock found = lock::look_at(client, options.name, what_to_break(options));
  const std::vector<std::string> owners = lock::owners_of(found);
  if (!leave.shown) leave.shown = owners;
  // Otherwise the request tells what is wrong.
  const bool is_breakable = !owners.empty() && std::ranges::all_of(owners, [&](const auto& owner) {
    return std::ranges::find(*leave.shown, owner) != leave.shown->end();
  });
  leave.is_given =
      !is_breakable || confirms(escape_for_terminal(options.name) + ": " + name_holders(found) +
                                ", " + describe_expiry(found.ttl_ms) + describe_waiters(found) +
                                on(server) + ". Break it?");
  return leave;
}

int break_lock(const Globals& globals, const UnlockOptions& options, const Leave& leave) {
  const std::string name = escape_for_terminal(options.name);
  if (!leave.is_given) return not_held(globals, name + ": left as it is");
  const redis::ClientOptions& server = leave.server;
  redis::Client client(server);
  const lock::ForceRelease result =
      lock::break_lock(client, options.name, what_to_break(options), leave.shown);
  if (result.outcome == lock::ForceRelease::Outcome::held_by_others) {
    say(name + ": " + (options.owner ? "" : "now ") + name_holders(result.found) +
        (options.owner ? ", not by " + escape_for_terminal(*options.owner) + " alone" : "") +
        "; left as it is" + on(server));
    return static_cast<int>(ExitStatus::not_held);
  }
  const std::string woken = describe_woken(result.found);
  if (result.outcome == lock::ForceRelease::Outcome::free) {
    return not_held(globals, name + ": not held by anybody; " + woken + on(server));
  }
  if (!globals.quiet) tell_loss(name, result.found, server);
  if (globals.verbose) say(name + ": " + woken + on(server));
  return 0;
}

// Breaks the lock on each server, even if another server does not answer. Asks all questions first:
// while a majority still has the lock, the holder's next renewal restores it.
int break_everywhere(const Globals& globals, const UnlockOptions& options) {
  if (!options.yes && !can_ask()) {
    throw Error(ExitStatus::usage,
                "unlock: --force asks before it breaks a lock, and there is no terminal: give -y");
  }
  const auto servers = globals.clients_options();
  int status = static_cast<int>(ExitStatus::not_held);
  int failure = 0;
  const auto attempt = [&](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      say(describe_error(error, globals, {options.name}));
      failure = static_cast<int>(error.status());
    }
  };
  std::vector<Leave> answers;
  for (const redis::ClientOptions& server : servers) {
    attempt([&] { answers.push_back(ask_leave(server, options)); });
  }
  for (const Leave& leave : answers) {
    attempt([&] { status = std::min(status, break_lock(globals, options, leave)); });
  }
  return failure != 0 ? failure : status;
}

// Releases the innermost hold of rlock acquire in the environment that was not given back yet. Does
// not release another hold of the owner, because that may belong to another process.
lock::Release release_known(const lock::Wish& wish, const std::vector<lock::Hold>& holds,
                            lock::Session& session) {
  for (auto hold = holds.rbegin(); hold != holds.rend(); ++hold) {
    const auto lock = lock::make_lock(wish_for(wish, *hold), session);
    if (lock->has_ended(session)) continue;
    return lock->release(session, Milliseconds(0));
  }
  return lock::Release::not_held;
}

int run_unlock(const Globals& globals, const UnlockOptions& options) {
  lock::check_name(options.name);
  if (options.force) return break_everywhere(globals, options);
  const OwnHold own = find_own_hold(options.name, options.owner, ", or --force to break the lock");
  lock::Session session(globals.session_options());
  if (const auto kept = describe_kept_hold(options.name, own, session)) {
    return not_held(globals, *kept);
  }
  const lock::Wish wish = wish_for_own(options.name, own, lock::k_default_lease, session);
  const auto answer = own.holds.empty()
                          ? lock::make_lock(wish, session)->release(session, Milliseconds(0))
                          : release_known(wish, own.holds, session);
  if (answer == lock::Release::not_held) {
    return not_held(globals, escape_for_terminal(options.name) + ": not held by " +
                                 escape_for_terminal(own.owner));
  }
  return 0;
}

}  // namespace

Action set_up_unlock(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<UnlockOptions>();
  command.set_usage("rlock unlock [--owner ID] [--force [-y] [--kind KIND]] NAME");
  command.add_argument("NAME", &options->name, "Name of the lock");
  command.add_value("--owner", &options->owner, "ID",
                    "Owner that holds the lock [from RLOCK_HELD or RLOCK_OWNER]");
  command.add_flag(
      "--force", options->force,
      "Break the lock and wake the waiters. With --owner, only if that owner holds it");
  command.add_flag("-y,--yes", options->yes, "Break the lock without asking");
  command.require("--yes", "--force");
  command.add_value("--kind", &options->kind, "KIND",
                    "Break a string or a hash that might not be a lock", {"simple", "hash"});
  command.require("--kind", "--force");
  return [&invocation, options] { return run_unlock(invocation.globals, *options); };
}

}  // namespace rlock::cli
