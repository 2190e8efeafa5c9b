// rlock evict: takes one waiter out of the queue of a fair lock.

#include <memory>
#include <optional>
#include <set>

#include "base/escape.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/json.hpp"
#include "lock/inspection/breaking.hpp"
#include "lock/inspection/snapshot.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

struct EvictOptions {
  std::string name;
  std::string owner;
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

int run_evict(const Globals& globals, const EvictOptions& options) {
  lock::check_name(options.name);
  const std::string name = escape_for_terminal(options.name);
  redis::Client client(globals.client_options("evict"));
  auto eviction = lock::evict(client, options.name, options.owner);
  if (!eviction) {
    const auto shown = find_shown(client, options.name, options.owner);
    if (shown) eviction = lock::evict(client, options.name, *shown);
  }
  if (!eviction) {
    return not_held(globals, name + ": " + escape_for_terminal(options.owner) +
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
  command.set_usage("rlock evict [OPTIONS] NAME OWNER");
  command.add_argument("NAME", &options->name, "Name of the lock");
  command.add_argument("OWNER", &options->owner, "The waiter, as inspect-queue shows it");
  return [&invocation, options] { return run_evict(invocation.globals, *options); };
}

}  // namespace rlock::cli
