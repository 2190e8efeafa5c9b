#include "cli/settings/take_options.hpp"

#include <algorithm>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/integer.hpp"
#include "cli/parsing/option_set.hpp"
#include "cli/settings/globals.hpp"
#include "lock/kinds/fair.hpp"

namespace rlock::cli {
namespace {

// A server keeps expiry times as 64-bit milliseconds; nobody means more than a year.
constexpr std::chrono::hours k_longest_lease{24 * 366};
constexpr std::size_t k_longest_note = 256;
constexpr int k_most_replicas = 1000;
constexpr int k_most_permits = 1'000'000;

Milliseconds parse_in_range(const std::string& option, const std::string& text,
                            Milliseconds shortest, std::chrono::hours longest) {
  const Milliseconds length = parse_duration_option(option, text);
  if (length < shortest || length > longest) {
    throw Error(ExitStatus::usage, option + ": '" + quote_input(text) +
                                       "' is out of range; expected " + format_duration(shortest) +
                                       " to " + std::to_string(longest.count()) + "h");
  }
  return length;
}

int parse_number(const std::string& option, const std::string& text, int least, int most) {
  const auto value = parse_integer<int>(text);
  if (!value || *value < least || *value > most) {
    throw Error(ExitStatus::usage, option + ": '" + quote_input(text) +
                                       "'; expected a number from " + std::to_string(least) +
                                       " to " + std::to_string(most));
  }
  return *value;
}

}  // namespace

void TakeOptions::add_to(OptionSet command) {
  add_kind_to(command);

  command.set_group("Waiting");
  command.add_value("-w,--wait", &wait, "DUR", "Give up after this time [wait forever]");
  command.add_flag("-n,--no-wait", no_wait, "Do not wait (--wait 0)");
  command.add_synonyms("--nb,--nonblock,--nonblocking", no_wait);  // of flock(1)
  command.add_value("--wait-server", &wait_server, "DUR",
                    "How long to try to reach a server that is away at the start [0s]");
  command.add_value("-E,--conflict-exit-code", &conflict_status, "STATUS",
                    "Exit status when the lock was not acquired in time, 0 to 255");

  command.set_group("Holding");
  command.add_value("--lease", &lease, "DUR",
                    "How long the server keeps the lock without a renewal. rlock renews it every "
                    "third of that");
  const bool is_exec = command.command() == "exec";
  command.add_flag("--no-watchdog", no_watchdog,
                   std::string("Do not renew the lease. ") +
                       (is_exec ? "exec ends CMD before the lease ends"
                                : "The lock ends with it, not with the shell"));
  command.add_flag("--fence", fence,
                   "Draw a fencing token. The protected resource can refuse an older one");
  command.add_value("--sync-replicas", &sync_replicas, "N",
                    "Give the lock back unless N replicas know of it");
  command.add_value("--restart-delay", &restart_delay, "DUR",
                    "With several servers, how long after its start a server grants no lock [the " +
                        (is_exec ? "longest of " + lease + ", --lease and --at-least]"
                                 : "longer of " + lease + " and --lease]"));

  command.set_group("What others see");
  command.add_value("--note", &note, "TEXT", "Text that others see beside the owner");
  command.add_flag("--no-info", no_info, "Do not store host, process ID, user and program");
}

void TakeOptions::add_kind_to(OptionSet command) {
  command.set_group("Kind of lock");
  command.add_value("--kind", &kind, "KIND", "Kind of lock", lock::kind_names());
  command.add_flag("--fair", fair, "First come, first served (--kind fair)");
  command.exclude("--fair", {"--kind"});
  command.add_flag("-s,--shared", shared, "Read lock, shared with other readers (--kind read)");
  command.exclude("--shared", {"--kind", "--fair"});
  command.add_flag("-x,--exclusive", exclusive,
                   "Write lock, which excludes readers and other writers (--kind write)");
  command.exclude("--exclusive", {"--kind", "--fair", "--shared"});
  command.add_value("--permits", &permits, "N",
                    "Let up to N runs hold the lock at the same time (--kind semaphore) [1]");
  command.exclude("--permits", {"--fair", "--shared", "--exclusive"});
  command.add_value("--fair-wait", &fair_wait, "DUR",
                    "How long this run stays in the queue after it has died");
}

TimePoint TakeOptions::wait_deadline() const {
  const TimePoint end =
      wait ? after(BootClock::now(), parse_duration_option("--wait", *wait)) : TimePoint::max();
  return no_wait ? BootClock::now() : end;
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

lock::Terms TakeOptions::terms() const {
  lock::Terms terms = parse_in_range("--lease", lease, lock::k_shortest_lease, k_longest_lease);
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
  servers.shorten_timeout(terms.lease, " (a tenth of the lease)");
  terms.restart_delay = delay;
}

Milliseconds TakeOptions::fair_wait_length() const {
  return parse_in_range("--fair-wait", fair_wait, lock::k_shortest_fair_wait,
                        lock::k_longest_fair_wait);
}

lock::About TakeOptions::tell(const lock::About& about) const {
  if (note.size() > k_longest_note) {
    throw Error(ExitStatus::usage, "--note: it has " + std::to_string(note.size()) +
                                       " bytes; expected " + std::to_string(k_longest_note) +
                                       " at the most");
  }
  lock::About told = no_info ? lock::About{} : about;
  told.note = note;
  told.renews = !no_info && !no_watchdog;
  return told;
}

std::string TakeOptions::owner() const {
  return no_info ? lock::anonymous_owner() : lock::fresh_owner();
}

ExitStatus TakeOptions::conflict_exit_status() const {
  return static_cast<ExitStatus>(parse_number("-E", conflict_status, 0, 255));
}

}  // namespace rlock::cli
