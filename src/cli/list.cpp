// rlock list: the locks on the server, one a line.

#include <algorithm>
#include <memory>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/list_row.hpp"
#include "cli/literal_words.hpp"
#include "cli/message.hpp"
#include "cli/taking.hpp"
#include "cli/terminal_size.hpp"
#include "cli/transient_line.hpp"
#include "lock/lock_scan.hpp"
#include "lock/snapshot.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

using lock::Snapshot;

// Snapshots that are read in one round trip.
constexpr std::size_t k_batch = 50;
constexpr Milliseconds k_redraw{100};

struct ListOptions {
  std::string pattern = "*";
  std::string simple;
  bool stuck = false;
};

class List {
 public:
  List(const Globals& globals, const ListOptions& options, redis::Client& client)
      : globals_(globals),
        options_(options),
        client_(client),
        scan_(client, {options.pattern, options.simple}) {}

  // Reads all locks. When this throws, `print_all` has those that were read until then.
  void read() {
    TransientLine progress(globals_.quiet ? TransientLine::Show::never
                                          : TransientLine::Show::on_terminal);
    while (!scan_.is_done()) {
      const std::vector<std::string> names = scan_.next();
      show(progress);
      for (std::size_t from = 0; from < names.size(); from += k_batch) {
        const auto first = names.begin() + static_cast<std::ptrdiff_t>(from);
        const auto count = std::min(k_batch, names.size() - from);
        add(lock::take_snapshots(client_, {first, first + static_cast<std::ptrdiff_t>(count)}));
        show(progress);
      }
    }
  }

  void print_all() {
    if (rows_.empty()) return;
    std::sort(rows_.begin(), rows_.end(),
              [](const ListRow& one, const ListRow& other) { return one.name < other.name; });
    std::string text;
    if (globals_.json) {
      for (const ListRow& row : rows_) text += to_json(row) + "\n";
    } else {
      text = to_table(rows_, terminal_columns(STDOUT_FILENO));
    }
    print(text);
  }

  void tell_what_is_missing() const {
    if (globals_.quiet) return;
    if (const std::int64_t unread = scan_.unread() + refused_; unread > 0) {
      say("list: " + std::to_string(unread) +
          " keys left out: they cannot be read, or hold more than a lock does");
    }
    if (!rows_.empty()) return;
    const std::string what = options_.stuck ? "no lock has a problem" : "no locks";
    say("list: " + what + " on " + client_.options().endpoint.display() +
        (options_.pattern == "*" ? "" : ": pattern " + escape_for_terminal(options_.pattern)));
  }

 private:
  [[nodiscard]] bool is_wanted(const Snapshot& snapshot) const {
    const bool is_stuck = !snapshot.problems.empty();
    return is_stuck || (!options_.stuck && snapshot.kind != Snapshot::Kind::none);
  }

  void add(const std::vector<std::optional<Snapshot>>& snapshots) {
    for (const auto& snapshot : snapshots) {
      if (!snapshot) {
        ++refused_;
      } else if (is_wanted(*snapshot)) {
        rows_.push_back(ListRow(*snapshot));
      }
    }
  }

  void show(TransientLine& progress) {
    const TimePoint now = BootClock::now();
    if (now < next_redraw_) return;
    next_redraw_ = after(now, k_redraw);
    std::string text = "list: " + std::to_string(scan_.looked_at());
    if (const auto total = scan_.total()) text += " of " + std::to_string(*total);
    progress.show(text + " keys looked at, " + std::to_string(rows_.size()) + " locks");
  }

  const Globals& globals_;
  const ListOptions& options_;
  redis::Client& client_;
  lock::LockScan scan_;
  TimePoint next_redraw_{};
  std::vector<ListRow> rows_;
  std::int64_t refused_ = 0;
};

int run_list(const Globals& globals, const ListOptions& options) {
  redis::ClientOptions client_options = globals.client_options();
  client_options.reply_limit = redis::k_large_reply;
  process::Signals signals;
  client_options.wake_fd = signals.fd();
  redis::Client client(client_options);
  List list(globals, options, client);
  try {
    list.read();
  } catch (const redis::Interrupted&) {
    return end_by_signal(signal_to_end(signals).value_or(process::Signal{SIGTERM}));
  } catch (const Error&) {
    list.print_all();
    throw;
  }
  list.print_all();
  list.tell_what_is_missing();
  return 0;
}

}  // namespace

Action set_up_list(CLI::App& command, const Invocation& invocation) {
  const auto options = std::make_shared<ListOptions>();
  set_usage(command, "rlock list [OPTIONS] [PATTERN]");
  unprotect(*command.add_option("PATTERN", options->pattern,
                                "Glob pattern of the locks' names (default: all)"));
  command.add_flag("--stuck", options->stuck, "Show only locks with a problem");
  command
      .add_option("--simple", options->simple,
                  "Show also strings whose names match PATTERN, as locks of kind simple")
      ->type_name("PATTERN");
  return [&invocation, options] { return run_list(invocation.globals, *options); };
}

}  // namespace rlock::cli
