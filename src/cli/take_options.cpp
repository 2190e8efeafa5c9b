#include "cli/take_options.hpp"

#include <charconv>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "cli/globals.hpp"
#include "lock/fair.hpp"

namespace rlock::cli {
namespace {

// A server keeps expiry times as 64-bit milliseconds; nobody means more than a year.
constexpr Milliseconds k_longest_lease = std::chrono::hours(24 * 366);
// Each waiter adds it to the deadlines of those behind it.
constexpr Milliseconds k_longest_fair_wait = std::chrono::hours(1);

constexpr std::size_t k_longest_note = 256;

Milliseconds parse_in_range(const std::string& option, const std::string& text,
                            Milliseconds shortest, Milliseconds longest, const char* range) {
  const Milliseconds length = parse_duration_option(option, text);
  if (length < shortest || length > longest) {
    throw Error(ExitStatus::usage, option + ": '" + escape_for_terminal(text) +
                                       "' is out of range; expected " + range);
  }
  return length;
}

}  // namespace

void TakeOptions::add_to(CLI::App& app) {
  CLI::Option* kind_option =
      app.add_option("--kind", kind, "Kind of lock: reentrant or fair [reentrant]")
          ->type_name("KIND")
          ->check(CLI::IsMember({"reentrant", "fair"}));
  app.add_flag("--fair", fair, "First come, first served: --kind fair")->excludes(kind_option);
  app.add_option("--fair-wait", fair_wait,
                 "How long this run may keep its place in the queue when it is dead [15s]")
      ->type_name("DUR");
  app.add_option("-w,--wait", wait, "Give up after so long [wait for ever]")->type_name("DUR");
  app.add_flag("-n,--no-wait", no_wait, "Do not wait: --wait 0");
  app.add_option("--lease", lease, "How long the lock outlives a crash; renewed every third [30s]")
      ->type_name("DUR");
  app.add_flag("--no-watchdog", no_watchdog,
               "Do not renew the lease; exec ends CMD before it ends");
  app.add_option("-E,--conflict-exit-code", conflict_status,
                 "Exit status when the lock was not acquired, 0 to 255 [75]")
      ->type_name("N");
  app.add_option("--note", note, "Words of your own that others see beside the owner")
      ->type_name("TEXT");
  app.add_flag("--no-info", no_info, "Do not tell others host, process, user and program");
}

TimePoint TakeOptions::wait_deadline() const {
  if (no_wait) return BootClock::now();
  if (!wait) return TimePoint::max();
  return after(BootClock::now(), parse_duration_option("--wait", *wait));
}

lock::Kind TakeOptions::lock_kind() const {
  return fair || kind == "fair" ? lock::Kind::fair : lock::Kind::reentrant;
}

Milliseconds TakeOptions::lease_length() const {
  return parse_in_range("--lease", lease, lock::k_shortest_lease, k_longest_lease,
                        "100ms to 8784h");
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

std::string TakeOptions::fresh_owner() const {
  return no_info ? lock::anonymous_owner() : lock::fresh_owner();
}

ExitStatus TakeOptions::conflict_exit_status() const {
  int value = 0;
  const char* end = conflict_status.data() + conflict_status.size();
  const auto [rest, error] = std::from_chars(conflict_status.data(), end, value);
  if (error != std::errc() || rest != end || value < 0 || value > 255) {
    throw Error(ExitStatus::usage, "-E: '" + escape_for_terminal(conflict_status) +
                                       "' is no exit status; expected 0 to 255");
  }
  return static_cast<ExitStatus>(value);
}

}  // namespace rlock::cli
