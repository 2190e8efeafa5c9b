#include "cli/settings/take_options.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "base/integer.hpp"
#include "cli/settings/globals.hpp"
#include "lock/kinds/fair/fair.hpp"
#include "lua_limits.hpp"

namespace rlock::cli {
namespace {

// A server keeps expiry times as 64-bit milliseconds; nobody means more than a year.
constexpr Milliseconds k_longest_lease = std::chrono::hours(24 * 366);
// Each waiter adds its wait to the deadlines of the waiters behind it.
constexpr Milliseconds k_longest_fair_wait = lua::k_far;

constexpr std::size_t k_longest_note = 256;
constexpr int k_most_replicas = 1000;
constexpr int k_most_permits = 1'000'000;
constexpr std::size_t k_longest_token = 1024;

Milliseconds parse_in_range(const std::string& option, const std::string& text,
                            Milliseconds shortest, Milliseconds longest, const char* range) {
  const Milliseconds length = parse_duration_option(option, text);
  if (length < shortest || length > longest) {
    throw Error(ExitStatus::usage,
                option + ": '" + repeated(text) + "' is out of range; expected " + range);
  }
  return length;
}

int parse_number(const std::string& option, const std::string& text, int least, int most) {
  const auto value = parse_integer<int>(text);
  if (!value || *value < least || *value > most) {
    throw Error(ExitStatus::usage, option + ": '" + repeated(text) + "'; expected a number from " +
                                       std::to_string(least) + " to " + std::to_string(most));
  }
  return *value;
}

}  // namespace

void TakeOptions::add_to(CLI::App& app) {
  add_kind_to(app);

  app.option_defaults()->group("Waiting");
  app.add_option("-w,--wait", wait, "Give up after this time [wait for ever]")->type_name("DUR");
  app.add_flag("-n,--no-wait", no_wait, "Do not wait (--wait 0)");
  app.add_option("-E,--conflict-exit-code", conflict_status,
                 "Exit status when the lock was not acquired in time, 0 to 255 [75]")
      ->type_name("STATUS");

  app.option_defaults()->group("Holding");
  app.add_option(
         "--lease", lease,
         "How long the server keeps the lock without a renewal. rlock renews it every third "
         "of that [30s]")
      ->type_name("DUR");
  const bool is_exec = app.get_name() == "exec";
  app.add_flag("--no-watchdog", no_watchdog,
               std::string("Do not renew the lease. ") +
                   (is_exec ? "exec ends CMD before the lease ends"
                            : "The lock ends with it, not with the shell"));
  app.add_flag("--fence", fence,
               "Draw a fencing token. The protected resource can refuse an older one");
  app.add_option("--sync-replicas", sync_replicas,
                 "Give the lock back unless N replicas know of it [0]")
      ->type_name("N");
  app.add_option(
         "--restart-delay", restart_delay,
         std::string("With several servers, how long after its start a server grants no "
                     "lock [the ") +
             (is_exec ? "longest of 30s, --lease and --at-least]" : "longer of 30s and --lease]"))
      ->type_name("DUR");

  app.option_defaults()->group("What others see");
  app.add_option("--note", note, "Text that others see beside the owner")->type_name("TEXT");
  app.add_flag("--no-info", no_info, "Do not store host, process ID, user and program");
}

void TakeOptions::add_kind_to(CLI::App& app) {
  app.option_defaults()->group("Kind of lock");
  CLI::Option* kind_option = app.add_option("--kind", kind, "Kind of lock [reentrant]")
                                 ->type_name("KIND")
                                 ->check(CLI::IsMember(lock::kind_names()));
  CLI::Option* fair_option =
      app.add_flag("--fair", fair, "First come, first served (--kind fair)")->excludes(kind_option);
  CLI::Option* shared_option =
      app.add_flag("-s,--shared", shared, "Read lock, shared with other readers (--kind read)")
          ->excludes(kind_option)
          ->excludes(fair_option);
  CLI::Option* exclusive_option =
      app.add_flag("-x,--exclusive", exclusive,
                   "Write lock, which excludes readers and other writers (--kind write)")
          ->excludes(kind_option)
          ->excludes(fair_option)
          ->excludes(shared_option);
  app.add_option("--permits", permits,
                 "Let up to N runs hold the lock at the same time (--kind semaphore) [1]")
      ->type_name("N")
      ->excludes(fair_option)
      ->excludes(shared_option)
      ->excludes(exclusive_option);
  app.add_option("--fair-wait", fair_wait,
                 "How long this run stays in the queue after it has died [15s]")
      ->type_name("DUR");
  key_format.add_to(app);
  app.add_option("--token", token, "Value of the key of a simple lock [random]")
      ->type_name("VALUE");
}

TimePoint TakeOptions::wait_deadline() const {
  const auto length = wait ? std::optional(parse_duration_option("--wait", *wait)) : std::nullopt;
  if (no_wait) return BootClock::now();
  return length ? after(BootClock::now(), *length) : TimePoint::max();
}

lock::Kind TakeOptions::lock_kind() const {
  if (permits && kind != "reentrant" && kind != "semaphore") {
    throw Error(ExitStatus::usage, "--permits: only a semaphore has them, not --kind " + kind);
  }
  if (permits) return lock::Kind::semaphore;
  if (shared) return lock::Kind::read;
  if (exclusive) return lock::Kind::write;
  return fair ? lock::Kind::fair : lock::kind_of(kind).value();
}

int TakeOptions::permit_count() const {
  return permits ? parse_number("--permits", *permits, 1, k_most_permits) : 1;
}

std::vector<std::string> TakeOptions::keys_of(const std::vector<std::string>& names) const {
  if (key_format.is_given() && lock_kind() != lock::Kind::simple) {
    throw Error(ExitStatus::usage, "--key-format: only with --kind simple");
  }
  return key_format.keys_of(names);
}

lock::Terms TakeOptions::terms() const {
  lock::Terms terms =
      parse_in_range("--lease", lease, lock::k_shortest_lease, k_longest_lease, "100ms to 8784h");
  if (fence) terms.fencing = lock::Fencing::on;
  terms.sync_replicas = parse_number("--sync-replicas", sync_replicas, 0, k_most_replicas);
  return terms;
}

void TakeOptions::fit_to_servers(lock::SessionOptions& servers, lock::Terms& terms,
                                 Milliseconds at_least) const {
  // After the run, nothing restores a lock kept by --at-least on a server that has lost it.
  const Milliseconds delay = restart_delay
                                 ? parse_duration_option("--restart-delay", *restart_delay)
                                 : std::max({terms.lease, lock::k_default_lease, at_least});
  if (servers.servers.size() < 2) return;
  servers.shorten_timeout(terms.lease);
  terms.restart_delay = delay;
}

Milliseconds TakeOptions::fair_wait_length() const {
  return parse_in_range("--fair-wait", fair_wait, lock::k_shortest_fair_wait, k_longest_fair_wait,
                        "15s to 1h");
}

lock::About TakeOptions::tell(const lock::About& about) const {
  if (note.size() > k_longest_note) {
    throw Error(ExitStatus::usage, "--note: it has " + std::to_string(note.size()) +
                                       " bytes; expected " + std::to_string(k_longest_note) +
                                       " at the most");
  }
  lock::About told = no_info ? lock::About{} : about;
  told.note = note;
  return told;
}

std::string TakeOptions::owner() const {
  if (token) {
    if (lock_kind() != lock::Kind::simple) {
      throw Error(ExitStatus::usage, "--token: only with --kind simple");
    }
    if (token->empty() || token->size() > k_longest_token) {
      throw Error(ExitStatus::usage, "--token: it has " + std::to_string(token->size()) +
                                         " bytes; expected 1 to " +
                                         std::to_string(k_longest_token));
    }
    return *token;
  }
  return no_info ? lock::anonymous_owner() : lock::fresh_owner();
}

ExitStatus TakeOptions::conflict_exit_status() const {
  return static_cast<ExitStatus>(parse_number("-E", conflict_status, 0, 255));
}

}  // namespace rlock::cli
