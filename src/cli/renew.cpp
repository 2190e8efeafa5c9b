// rlock renew: extends a lease once.

#include <memory>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/literal_words.hpp"
#include "cli/message.hpp"
#include "cli/take_options.hpp"
#include "lock/reentrant.hpp"

namespace rlock::cli {
namespace {

struct RenewOptions {
  std::string name;
  std::string owner;
  TakeOptions take;  // only the lease is offered
};

int run_renew(const Globals& globals, const RenewOptions& options) {
  const lock::ReentrantLock lock(options.name, options.owner, {}, options.take.lease_length());
  redis::Client client(globals.client_options());
  if (lock.renew(client) == lock::Renewal::renewed) return 0;
  if (!globals.quiet) {
    say(escape_for_terminal(options.name) + ": not held by " + escape_for_terminal(options.owner));
  }
  return static_cast<int>(ExitStatus::not_held);
}

}  // namespace

Action set_up_renew(CLI::App& command, const Invocation& invocation) {
  const auto options = std::make_shared<RenewOptions>();
  set_usage(command, "rlock renew --owner ID [--lease DUR] NAME");
  unprotect(*command.add_option("NAME", options->name, "Name of the lock")->required());
  command.add_option("--owner", options->owner, "Who holds it")->type_name("ID")->required();
  command.add_option("--lease", options->take.lease, "How long the lock is held from now on [30s]")
      ->type_name("DUR");
  return [&invocation, options] { return run_renew(invocation.globals, *options); };
}

}  // namespace rlock::cli
