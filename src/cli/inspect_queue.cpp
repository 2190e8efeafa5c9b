// rlock inspect-queue: shows one atomic snapshot of a lock.

#include <memory>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/literal_words.hpp"
#include "cli/message.hpp"
#include "cli/remedy.hpp"
#include "cli/snapshot_json.hpp"
#include "cli/snapshot_text.hpp"
#include "cli/terminal_size.hpp"
#include "lock/key_names.hpp"
#include "lock/snapshot.hpp"

namespace rlock::cli {
namespace {

int run_inspect_queue(const Globals& globals, const std::string& name) {
  lock::check_name(name);
  redis::ClientOptions options = globals.client_options();
  options.reply_limit = redis::k_large_reply;
  redis::Client client(options);
  lock::Snapshot snapshot = lock::take_snapshot(client, name);
  const std::string server = server_option(globals, options.endpoint);
  for (lock::Problem& problem : snapshot.problems) problem.hint = name_server(problem.hint, server);
  if (globals.json) {
    print(to_json(snapshot, options.endpoint.display()) + "\n");
  } else {
    print(to_text(snapshot, terminal_columns(STDOUT_FILENO),
                  globals.verbose ? Detail::raw : Detail::people));
  }
  return 0;
}

}  // namespace

Action set_up_inspect_queue(CLI::App& command, const Invocation& invocation) {
  const auto name = std::make_shared<std::string>();
  set_usage(command, "rlock inspect-queue [OPTIONS] NAME");
  unprotect(*command.add_option("NAME", *name, "Name of the lock")->required());
  return [&invocation, name] { return run_inspect_queue(invocation.globals, *name); };
}

}  // namespace rlock::cli
