// rlock evict: takes one waiter out of the queue of a fair lock.

#include <memory>
#include <optional>
#include <set>

#include "base/escape.hpp"
#include "base/wording.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/json.hpp"
#include "lock/inspection/force_release.hpp"
#include "lock/inspection/snapshot.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

struct EvictOptions {
  std::string name;
  std::optional<std::string> owner;
  bool dead = false;
  bool yes = false;
};

// Returns the one waiter that inspect-queue shows as `text`, or nothing.
std::optional<std::string> find_shown(redis::Client& client, const std::string& name,
                                      const std::string& text) {
  const lock::Snapshot snapshot = lock::take_snapshot(client, name);
  std::set<std::string> members(snapshot.queue.begin(), snapshot.queue.end());
  for (const auto& [member, score] : snapshot.scores) members.insert(member);
  std::optional<std::string> found;
  for (const std::string& member : members) {
    if (escape_for_terminal(member) != text && to_utf8(member) != text) continue;
    if (found) return std::nullopt;
    found = member;
  }
  return found;
}

std::string describe(const lock::Eviction& eviction) {
  const lock::About& about = eviction.waiter.about;
  std::string text = describe_holder(eviction.waiter.owner, about);
  if (!about.host.empty()) text += ", owner " + escape_for_terminal(eviction.waiter.owner);
  text += eviction.position ? ", position " + std::to_string(*eviction.position) + " in the queue"
                            : ", which had a deadline but was not in the queue";
  if (eviction.alive == true) text += "; it seems alive, and will join the queue again at the end";
  return text;
}

// Returns what to say of waiters that nobody can judge, or nothing.
std::string describe_unknown(std::size_t count) {
  if (count == 0) return "";
  return "; " + plural(count, "waiter") + (count == 1 ? " is" : " are") +
         " left that may be dead: this server does not see all listeners, or this user is not "
         "allowed to ask";
}

int evict_dead(const Globals& globals, const EvictOptions& options, redis::Client& client) {
  if (!options.yes && !can_ask()) {
    throw Error(ExitStatus::usage,
                "evict: --dead asks before it evicts, and there is no terminal: give -y");
  }
  const std::string name = escape_for_terminal(options.name);
  std::vector<std::string> gone;
  const lock::Snapshot snapshot = lock::take_snapshot(client, options.name);
  const std::size_t count = snapshot.dead_waiters();
  for (const lock::Waiter& waiter : snapshot.waiters) {
    if (lock::has_waiter_ended(waiter)) gone.push_back(waiter.owner);
  }
  if (count > 0 && !options.yes &&
      !confirms(name + ": " + describe_dead(count, snapshot.waiters.size()) + ". Evict " +
                (count == 1 ? "it?" : "them?"))) {
    return not_held(globals, name + ": left as it is");
  }
  const lock::DeadEvictions evictions = lock::evict_dead(client, options.name, gone);
  if (globals.json) {
    print(to_line({{"name", to_utf8(options.name)},
                   {"evicted_count", evictions.evicted},
                   {"unknown_count", evictions.unknown}}));
  }
  const std::string unknown = describe_unknown(evictions.unknown);
  if (evictions.evicted == 0) return not_held(globals, name + ": no waiter is dead" + unknown);
  if (!globals.quiet && !globals.json) {
    say(name + ": evicted " + plural(evictions.evicted, "dead waiter") + unknown);
  }
  return 0;
}

int run_evict(const Globals& globals, const EvictOptions& options) {
  lock::check_name(options.name);
  if (options.dead == options.owner.has_value()) {
    throw Error(ExitStatus::usage, "evict: give either the OWNER of a waiter or --dead");
  }
  redis::Client client(globals.client_options("evict"));
  if (options.dead) return evict_dead(globals, options, client);
  const std::string name = escape_for_terminal(options.name);
  auto eviction = lock::evict(client, options.name, *options.owner);
  if (!eviction) {
    const auto shown = find_shown(client, options.name, *options.owner);
    if (shown) eviction = lock::evict(client, options.name, *shown);
  }
  if (!eviction) {
    return not_held(globals, name + ": " + escape_for_terminal(*options.owner) +
                                 " is not waiting for this lock");
  }
  if (globals.json) {
    print(to_line({{"name", to_utf8(options.name)},
                   {"owner", to_utf8(eviction->waiter.owner)},
                   {"position", value_or_null(eviction->position)},
                   {"was_alive", value_or_null(eviction->alive)}}));
  } else if (!globals.quiet) {
    say(name + ": evicted " + describe(*eviction));
  }
  return 0;
}

}  // namespace

Action set_up_evict(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<EvictOptions>();
  command.set_usage("rlock evict [OPTIONS] NAME {OWNER | --dead [-y]}");
  command.add_argument("NAME", &options->name, "Name of the lock");
  command.add_argument("OWNER", &options->owner, "The waiter, as inspect-queue shows it",
                       OptionSet::Need::optional);
  command.add_flag("--dead", options->dead, "Evict all waiters that are dead");
  command.add_flag("-y,--yes", options->yes, "Evict the dead waiters without asking");
  command.require("--yes", "--dead");
  return [&invocation, options] { return run_evict(invocation.globals, *options); };
}

}  // namespace rlock::cli
