// rlock inspect-queue: shows one atomic snapshot of a lock.

#include <memory>
#include <unistd.h>

#include "cli/commands/commands.hpp"
#include "cli/output/error_text.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/remedy.hpp"
#include "cli/output/snapshot_json.hpp"
#include "cli/output/snapshot_text.hpp"
#include "cli/output/view_text.hpp"
#include "cli/terminal/terminal_size.hpp"
#include "lock/inspection/snapshot.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

void inspect(const Globals& globals, const redis::ClientOptions& options, const std::string& name) {
  redis::Client client(options);
  lock::Snapshot snapshot = lock::take_snapshot(client, name);
  if (snapshot.listening.value_or(0) > 0) {
    snapshot.listening_clients = lock::listening_clients(client, name);
  }
  const Remedies remedies(globals, client);
  const auto problems = describe_problems(snapshot.problems, snapshot, remedies);
  std::vector<ProblemText> notes;
  if (const auto& unknown = snapshot.unknown_waiters) {
    notes.push_back(describe_problem(*unknown, snapshot, remedies));
  }
  if (!globals.quiet) {
    for (const std::string& line : describe_view(snapshot, remedies)) say(line);
  }
  if (globals.json) {
    print(to_json(snapshot, options.endpoint.display(), problems, notes) + "\n");
  } else {
    print(to_text(snapshot, problems, terminal_columns(STDOUT_FILENO),
                  globals.verbose ? Detail::raw : Detail::people, notes));
  }
}

// Of several servers, each is looked at, also where another does not answer.
int run_inspect_queue(const Globals& globals, const std::string& name) {
  const auto servers = globals.clients_options();
  int status = 0;
  for (const redis::ClientOptions& server : servers) {
    if (servers.size() > 1 && !globals.json) print("== " + server.endpoint.display() + "\n");
    try {
      inspect(globals, server, name);
    } catch (const Error& error) {
      say(describe_error(error, globals));
      status = static_cast<int>(error.status());
    }
  }
  return status;
}

}  // namespace

Action set_up_inspect_queue(OptionSet command, const Invocation& invocation) {
  const auto name = std::make_shared<std::string>();
  command.set_usage("rlock inspect-queue [OPTIONS] NAME");
  command.add_argument("NAME", name.get(), "Name of the lock");
  return [&invocation, name] {
    lock::check_name(*name);
    return run_inspect_queue(invocation.globals, *name);
  };
}

}  // namespace rlock::cli
