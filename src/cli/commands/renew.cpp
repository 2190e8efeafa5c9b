// rlock renew: extends a lease once.

#include <memory>
#include <optional>

#include "base/escape.hpp"
#include "cli/commands/commands.hpp"
#include "cli/settings/take_options.hpp"
#include "cli/taking/own_hold.hpp"
#include "lock/make_lock.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

struct RenewOptions {
  std::string name;
  std::optional<std::string> owner;
  TakeOptions take;  // only the lease and the key's name are offered
};

int run_renew(const Globals& globals, const RenewOptions& options) {
  const std::string& name = options.name;
  lock::check_name(name);
  const OwnHold own = find_own_hold(name, options.owner);
  lock::Session session(globals.session_options());
  if (const auto kept = describe_kept_hold(name, own, session)) return not_held(globals, *kept);
  const lock::Wish wish = wish_for_own(name, own, options.take.terms(), session);
  const auto renews = [&](const lock::Wish& one) {
    return lock::make_lock(one, session)->renew(session, nullptr) == lock::Renewal::renewed;
  };
  // Of several servers, each knows every hold, and is to know it for as long as the lock.
  bool is_renewed = false;
  for (const lock::Hold& hold : own.holds) {
    if (renews(wish_for(wish, hold))) is_renewed = true;
  }
  if (!is_renewed) is_renewed = renews(wish);  // a run of exec above may hold it
  session.settle();
  if (is_renewed) return 0;
  return not_held(globals,
                  escape_for_terminal(name) + ": not held by " + escape_for_terminal(own.owner));
}

}  // namespace

Action set_up_renew(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<RenewOptions>();
  command.set_usage("rlock renew [--owner ID] [--lease DUR] NAME");
  command.add_argument("NAME", &options->name, "Name of the lock");
  command.add_value("--owner", &options->owner, "ID",
                    "Owner that holds the lock [from RLOCK_HELD or RLOCK_OWNER]");
  command.add_value("--lease", &options->take.lease, "DUR",
                    "How long the lock is held from now on");
  return [&invocation, options] { return run_renew(invocation.globals, *options); };
}

}  // namespace rlock::cli
