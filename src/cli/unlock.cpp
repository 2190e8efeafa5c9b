// rlock unlock: gives one hold back, or breaks the lock.

#include <cstdlib>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/literal_words.hpp"
#include "cli/message.hpp"
#include "lock/held.hpp"
#include "lock/reentrant.hpp"

namespace rlock::cli {
namespace {

struct UnlockOptions {
  std::string name;
  std::optional<std::string> owner;
  bool force = false;
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

int run_unlock(const Globals& globals, const UnlockOptions& options) {
  lock::check_name(options.name);
  const std::string name = escape_for_terminal(options.name);
  if (options.force) {
    redis::Client client(globals.client_options());
    const auto owners = lock::force_release(client, options.name);
    if (!owners) return not_held(globals, name + ": not held by anybody");
    if (globals.verbose) {
      for (const std::string& owner : *owners) {
        say(name + ": taken from " + escape_for_terminal(owner));
      }
    }
    return 0;
  }
  const std::string owner = find_owner(options);
  lock::ReentrantLock lock(options.name, owner, {}, lock::k_default_lease);
  redis::Client client(globals.client_options());
  if (lock.release(client) == lock::Release::not_held) {
    return not_held(globals, name + ": not held by " + escape_for_terminal(owner));
  }
  return 0;
}

}  // namespace

Action set_up_unlock(CLI::App& command, const Invocation& invocation) {
  const auto options = std::make_shared<UnlockOptions>();
  set_usage(command, "rlock unlock [--owner ID | --force] NAME");
  unprotect(*command.add_option("NAME", options->name, "Name of the lock")->required());
  CLI::Option* owner =
      command.add_option("--owner", options->owner, "Who holds it [RLOCK_HELD]")->type_name("ID");
  command.add_flag("--force", options->force, "Break the lock and wake the waiters")
      ->excludes(owner);
  return [&invocation, options] { return run_unlock(invocation.globals, *options); };
}

}  // namespace rlock::cli
