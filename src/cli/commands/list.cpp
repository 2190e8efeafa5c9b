// rlock list: the locks on the server, or in the cluster, one a line.

#include <deque>
#include <memory>
#include <optional>
#include <unistd.h>

#include "base/escape.hpp"
#include "base/shell_quote.hpp"
#include "base/wording.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/list_row.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/view_text.hpp"
#include "cli/taking/taking.hpp"
#include "cli/terminal/terminal_size.hpp"
#include "cli/terminal/transient_line.hpp"
#include "lock/inspection/lock_scan.hpp"
#include "lock/inspection/snapshot.hpp"
#include "redis/masters.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

using lock::Snapshot;

constexpr Milliseconds k_redraw{100};

struct ListOptions {
  std::string pattern = "*";
  std::string simple;
  bool stuck = false;
};

class List {
 public:
  List(const Globals& globals, const ListOptions& options, redis::Client& client)
      : globals_(globals), options_(options), client_(client), paint_(find_paint(globals)) {}

  // Reads all locks. If this throws, `print_all` prints the locks that could be read.
  void read() {
    TransientLine progress(globals_.quiet);
    masters_.emplace(client_);
    masters_->for_each([&](redis::Client& master) {
      lock::LockScan& scan =
          scans_.emplace_back(master, lock::LockPatterns{options_.pattern, options_.simple, true});
      while (!scan.is_done()) {
        const std::vector<std::string> names = scan.next();
        show(progress);
        lock::take_snapshots(client_, names, [&](const std::optional<Snapshot>& snapshot) {
          add(snapshot);
          show(progress);
        });
      }
    });
  }

  void print_all() {
    if (rows_.empty()) return;
    std::string text;
    if (globals_.json) {
      for (const auto& [name, row] : rows_) text += row.front();
    } else {
      text = list_table(rows_, terminal_columns(STDOUT_FILENO));
    }
    print(text);
  }

  [[nodiscard]] bool has_rows() const noexcept { return !rows_.empty(); }

  void tell_what_is_missing() const {
    if (globals_.quiet) return;
    std::int64_t unread = refused_;
    for (const lock::LockScan& scan : scans_) unread += scan.unread();
    if (unread > 0) say("list: " + describe_left_out(unread));
    tell_of_servers();
    tell_of_strings();
    if (unknown_waiters_ > 0) {
      say("list: it is unknown whether " + plural(unknown_waiters_, "waiter") +
          (unknown_waiters_ == 1 ? " is" : " are") + " alive; rlock doctor says what would tell");
    }
    if (!rows_.empty()) return;
    const std::string what = options_.stuck ? "no lock has a problem" : "no locks";
    say("list: " + what + " on " + client_.options().endpoint.display() +
        (options_.pattern == "*" ? "" : ": pattern " + quote_input(options_.pattern)));
  }

 private:
  void tell_of_servers() const {
    const Remedies remedies(globals_, client_);
    for (const lock::LockScan& scan : scans_) {
      for (const std::string& line :
           describe_view(scan.replication(), scan.other_databases(), remedies, "list")) {
        say("list: " + line);
      }
    }
  }

  // Applications keep such strings for other purposes, too, so they are not shown unasked.
  void tell_of_strings() const {
    AlikeStrings strings;
    for (const lock::LockScan& scan : scans_) strings.add(scan);
    if (strings.count == 0) return;
    say("list: " + strings.describe("") + "; --simple " + shell_quote(options_.pattern) +
        (strings.count == 1 ? " shows it" : " shows them"));
  }

  void add(const std::optional<Snapshot>& snapshot) {
    if (snapshot && snapshot->unknown_waiters) {
      unknown_waiters_ += snapshot->unknown_waiters->waiters.count;
    }
    if (!snapshot) {
      ++refused_;
    } else if (!snapshot->problems.empty() ||
               (!options_.stuck && (snapshot->kind || snapshot->is_unknown))) {
      rows_[snapshot->name] =
          globals_.json ? std::vector{json(*snapshot)} : list_cells(*snapshot, paint_);
    }
  }

  [[nodiscard]] std::string json(const Snapshot& snapshot) const {
    return list_json(snapshot,
                     describe_problems(snapshot.problems, snapshot, Remedies(globals_, client_)));
  }

  void show(TransientLine& progress) {
    const TimePoint now = BootClock::now();
    if (now < next_redraw_) return;
    next_redraw_ = after(now, k_redraw);
    std::int64_t looked_at = 0;
    std::int64_t total = 0;
    bool is_known = scans_.size() == masters_->clients().size();
    for (const lock::LockScan& scan : scans_) {
      looked_at += scan.looked_at();
      total += scan.total().value_or(0);
      is_known = is_known && scan.total();
    }
    std::string text = "list: " + std::to_string(looked_at);
    if (is_known) text += " of " + std::to_string(total);
    progress.show(text + ((is_known ? total : looked_at) == 1 ? " key" : " keys") + " looked at, " +
                  plural(rows_.size(), "lock"));
  }

  const Globals& globals_;
  const ListOptions& options_;
  redis::Client& client_;
  Paint paint_;
  std::optional<redis::Masters> masters_;
  std::deque<lock::LockScan> scans_;  // one of each master
  TimePoint next_redraw_{};
  // By name: a slot of a cluster that was moved meanwhile is seen twice. Each has a line of JSON,
  // or the cells of its row: a queue can be long, and the locks many.
  ListRows rows_;
  std::int64_t refused_ = 0;
  std::size_t unknown_waiters_ = 0;
};

int run_list(const Globals& globals, const ListOptions& options) {
  redis::ClientOptions client_options = globals.client_options("list");
  process::Signals signals;
  client_options.wake_fd = signals.fd();
  redis::Client client(client_options);
  List list(globals, options, client);
  try {
    list.read();
  } catch (const redis::Interrupted&) {
    return end_by_signal(signal_to_end(signals).value_or(process::Signal{SIGTERM}));
  } catch (const Error&) {
    signals.restore_callers_mask();
    list.print_all();
    throw;
  }
  signals.restore_callers_mask();  // a signal ends rlock also while nobody reads what it writes
  list.print_all();
  list.tell_what_is_missing();
  return options.stuck && list.has_rows() ? static_cast<int>(ExitStatus::problems) : 0;
}

}  // namespace

Action set_up_list(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<ListOptions>();
  command.set_usage("rlock list [OPTIONS] [PATTERN]");
  command.add_argument("PATTERN", &options->pattern, "Glob pattern of the locks' names [all]",
                       OptionSet::Need::optional);
  command.add_flag("--stuck", options->stuck,
                   "Show only locks with a problem. With one, the exit status is 1");
  command.add_value("--simple", &options->simple, "PATTERN",
                    "Also show strings whose names match PATTERN, as locks of kind simple");
  return [&invocation, options] { return run_list(invocation.globals, *options); };
}

}  // namespace rlock::cli
