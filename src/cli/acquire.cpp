// rlock acquire: takes a lock and leaves.

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/escape.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/literal_words.hpp"
#include "cli/message.hpp"
#include "cli/take_options.hpp"
#include "cli/taking.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

struct AcquireOptions {
  std::string name;
  TakeOptions take;
};

std::string describe(const Taken& taken, const Globals& globals) {
  if (!globals.json) return taken.lock->owner() + "\n";
  nlohmann::ordered_json json;
  json["name"] = to_utf8(taken.lock->name());
  json["owner"] = taken.lock->owner();
  json["kind"] = lock::kind_name(taken.lock->kind());
  json["token"] = nullptr;
  json["lease_ms"] = taken.lease.length.count();
  json["count"] = taken.lease.count;
  return json.dump() + "\n";
}

int run_acquire(const Globals& globals, const AcquireOptions& options) {
  lock::check_name(options.name);
  if (!options.take.no_watchdog) {
    throw Error(ExitStatus::usage,
                "acquire: this version has no background watchdog; give --no-watchdog, and a "
                "--lease that is long enough");
  }
  const ExitStatus conflict = options.take.conflict_exit_status();
  Request request{options.name, options.take.fresh_owner(),
                  options.take.tell(lock::about_calling_process()), options.take.lease_length(),
                  options.take.wait_deadline()};
  request.kind = options.take.lock_kind();
  request.fair_wait = options.take.fair_wait_length();
  redis::ClientOptions client_options = globals.client_options();
  process::Signals signals;
  client_options.wake_fd = signals.fd();
  if (options.take.no_info) client_options.name = "rlock";
  redis::Client client(client_options);
  try {
    const auto taken = take(request, globals, client);
    if (!taken) return static_cast<int>(conflict);
    if (const auto signal = signal_to_end(signals)) {
      client.set_wake_fd(-1);
      taken->lock->release(client);
      return end_by_signal(*signal);
    }
    try {
      print(describe(*taken, globals));
    } catch (const Error&) {  // nobody would know whose lock it is
      client.set_wake_fd(-1);
      taken->lock->release(client);
      throw;
    }
    return 0;
  } catch (const redis::Interrupted&) {
    return end_by_signal(signal_to_end(signals).value_or(process::Signal{SIGTERM}));
  }
}

}  // namespace

Action set_up_acquire(CLI::App& command, const Invocation& invocation) {
  const auto options = std::make_shared<AcquireOptions>();
  set_usage(command, "rlock acquire --no-watchdog [OPTIONS] NAME");
  unprotect(*command.add_option("NAME", options->name, "Name of the lock")->required());
  options->take.add_to(command);
  return [&invocation, options] { return run_acquire(invocation.globals, *options); };
}

}  // namespace rlock::cli
