// rlock watch: follows locks live. Shows a screen on a terminal, otherwise one line for each event.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <signal.h>
#include <unistd.h>

#include "base/escape.hpp"
#include "base/wall_time.hpp"
#include "cli/commands/commands.hpp"
#include "cli/taking/taking.hpp"
#include "cli/terminal/full_screen.hpp"
#include "cli/watching/event_lines.hpp"
#include "cli/watching/lock_watcher.hpp"
#include "cli/watching/watch_screen.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

constexpr Milliseconds k_tick{1000};
constexpr Milliseconds k_between_frames{100};  // at least, but for a new size of the terminal
constexpr int k_hangup_patience_ms = 1000;

struct WatchOptions {
  std::vector<std::string> names;
  std::string until;  // "held", "free" or empty
  std::optional<std::string> span;
};

// WatchOptions with every text understood.
struct WatchPlan {
  std::vector<std::string> names;
  std::optional<bool> until_held;  // false: until free
  TimePoint end = TimePoint::max();
  bool json = false;
  bool on_screen = false;
  bool quiet = false;
};

WatchPlan make_plan(const WatchOptions& options, const Globals& globals) {
  WatchPlan plan;
  for (const std::string& name : options.names) {
    lock::check_name(name);
    if (std::ranges::find(plan.names, name) == plan.names.end()) plan.names.push_back(name);
  }
  if (!options.until.empty()) plan.until_held = options.until == "held";
  if (options.span) {
    plan.end = after(BootClock::now(), parse_duration_option("--for", *options.span));
  }
  plan.json = globals.json;
  plan.quiet = globals.quiet;
  plan.on_screen = !plan.json && FullScreen::is_possible();
  return plan;
}

class Watch {
 public:
  Watch(WatchPlan plan, const Globals& globals, const redis::ClientOptions& client,
        process::Signals& signals)
      : plan_(std::move(plan)),
        paint_(find_paint(globals)),
        signals_(signals),
        watcher_({client, plan_.names, plan_.end, globals}),
        states_(plan_.names.size()),
        screen_(plan_.names, client.endpoint.display(), FullScreen::has_keys() ? "  q: leave" : "",
                paint_) {
    if (!plan_.on_screen) return;
    // SIGTTIN: blocked, so that no key that is read in the background can stop us.
    for (const int signal : {SIGTSTP, SIGCONT, SIGWINCH, SIGTTIN}) signals_.read_also(signal);
  }

  // Runs until it is enough. Returns the result of the action. Throws Error when the server was
  // never there, or refuses for good.
  int run() {
    while (true) {
      if (const auto status = status_at_end()) return *status;
      wait();
      while (const auto next = signals_.next()) {
        if (process::ends_process(next->number) && !next->from_self) return end_by_signal(*next);
        on_job_control(next->number);
      }
    }
  }

 private:
  [[nodiscard]] bool has_output() const {
    if (!plan_.on_screen) return !lines_.empty();
    return terminal_.is_writing() || BootClock::now() >= next_frame_;
  }

  // Returns the status if it is time to end, and everything has been written.
  [[nodiscard]] std::optional<int> status_at_end() const {
    if (!was_seen_ || !lines_.empty()) return std::nullopt;
    const auto as_wanted = [&](std::optional<bool> held) { return held == plan_.until_held; };
    if (plan_.until_held && std::ranges::all_of(states_, as_wanted)) return 0;
    if (BootClock::now() < plan_.end) return std::nullopt;
    return static_cast<int>(plan_.until_held ? ExitStatus::timed_out : ExitStatus::ok);
  }

  // Waits for a signal, for news, or until something is due, and handles it. Writes only what
  // stdout accepts without blocking, and takes no news before the last lines are written, because
  // the reader of stdout may stop reading.
  void wait() {
    const bool output = has_output();
    const bool may_end = was_seen_ && lines_.empty();
    const TimePoint next = std::min(may_end ? plan_.end : TimePoint::max(),
                                    plan_.on_screen && !output ? next_frame_ : TimePoint::max());
    std::array<pollfd, 4> polled = {
        {{signals_.fd(), POLLIN, 0},
         {lines_.empty() ? watcher_.fd() : -1, POLLIN, 0},
         {was_seen_ ? STDOUT_FILENO : -1, static_cast<short>(output ? POLLOUT : 0), 0},
         {terminal_.keys_fd(), POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), poll_timeout(next)) < 0) return;
    if (polled[0].revents != 0) return;
    if ((polled[2].revents & (POLLERR | POLLHUP)) != 0) on_unread();
    if ((polled[2].revents & ~(POLLERR | POLLHUP)) != 0) write();
    if (polled[1].revents != 0) tell_news();
    if (polled[3].revents != 0 && terminal_.is_pressed('q')) plan_.end = BootClock::now();
  }

  // Nobody can read stdout any more.
  void on_unread() {
    if (!plan_.on_screen) end_if_unread();
    // The terminal is gone, which a signal says, too.
    pollfd polled{signals_.fd(), POLLIN, 0};
    if (::poll(&polled, 1, k_hangup_patience_ms) == 1) return;
    throw Error(ExitStatus::unavailable, "stdout: the terminal is gone");
  }

  void write() {
    if (terminal_.is_writing()) {
      terminal_.go_on();
    } else if (plan_.on_screen) {
      const TerminalSize size = terminal_size(STDOUT_FILENO).value_or(TerminalSize{});
      const TimePoint now = BootClock::now();
      terminal_.draw(screen_.lines(size, now), size);
      last_frame_ = now;
      next_frame_ = after(now, k_tick);
    } else {
      written_ += print_some(std::string_view(lines_).substr(written_));
      if (written_ < lines_.size()) return;
      lines_.clear();
      written_ = 0;
    }
  }

  void on_job_control(int signal) {
    if (signal == SIGCONT) terminal_.refresh();
    if (signal == SIGTSTP) {
      terminal_.leave();
      ::raise(SIGTSTP);
      process::stop_until_continued();
    }
    if (was_seen_) next_frame_ = BootClock::now();
  }

  void tell_news() {
    for (const News& news : watcher_.take()) {
      std::visit([&](const auto& what) { tell(what); }, news);
    }
    if (was_seen_) next_frame_ = std::min(next_frame_, after(last_frame_, k_between_frames));
  }

  void tell(const Looked& looked) {
    // What is no lock is neither held nor free.
    const lock::Snapshot& snapshot = *looked.snapshot;
    states_[looked.lock] = snapshot.is_unknown ? std::nullopt : std::optional<bool>(snapshot.held);
    was_seen_ = true;
    screen_.show(looked);
    warn(looked);
    for (const LockEvent& event : looked.events) {
      if (plan_.json) {
        lines_ += json_line(event, snapshot);
        continue;
      }
      const std::string text = describe_event(event, snapshot, paint_);
      if (!plan_.on_screen) {
        lines_ += text_line(snapshot.time_ms, snapshot.name, text);
      } else if (event.message.empty()) {  // otherwise `Back` has reported it already
        const bool is_one = plan_.names.size() == 1;
        screen_.add_event(snapshot.time_ms,
                          (is_one ? "" : escape_for_terminal(snapshot.name) + " ") + text);
      }
    }
  }

  // All locks are on one server, so that a warning about it comes once.
  void warn(const Looked& looked) {
    for (const std::string& warning : looked.warnings) {
      if (!warned_.insert(warning).second) continue;
      if (plan_.on_screen) {
        screen_.add_event(looked.snapshot->time_ms, warning);
      } else if (!plan_.quiet) {
        say(warning);
      }
    }
  }

  void tell(const Away& away) {
    // How the locks are is not known any more.
    states_.assign(states_.size(), std::nullopt);
    screen_.set_away(away.since, away.why);
    if (!away.begins) return;
    const std::string text = paint_(Tone::bad, "error: " + away.why);
    if (plan_.on_screen) return screen_.add_event(local_time_ms(), text);
    for (const std::string& name : plan_.names) {
      lines_ +=
          plan_.json ? json_error_line(name, away.why) : text_line(local_time_ms(), name, text);
    }
  }

  void tell(const Back& back) {
    screen_.set_back();
    if (plan_.on_screen) screen_.add_event(local_time_ms(), back.message);
  }

  WatchPlan plan_;
  Paint paint_;
  process::Signals& signals_;
  LockWatcher watcher_;
  // Whether each lock is held. Nothing: not known now, or it is no lock.
  std::vector<std::optional<bool>> states_;
  bool was_seen_ = false;    // whether every lock was seen once
  std::string lines_;        // to be written
  std::size_t written_ = 0;  // of them
  std::set<std::string> warned_;
  WatchScreen screen_;
  TimePoint last_frame_{};
  TimePoint next_frame_ = TimePoint::max();
  FullScreen terminal_;
};

int run_watch(const Globals& globals, const WatchOptions& options) {
  const WatchPlan plan = make_plan(options, globals);
  const redis::ClientOptions client = globals.client_options("watch");
  limit_messages();
  process::Signals signals;
  return Watch(plan, globals, client, signals).run();
}

}  // namespace

Action set_up_watch(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<WatchOptions>();
  command.set_usage("rlock watch [OPTIONS] NAME...");
  command.add_argument("NAME", &options->names, "Names of the locks");
  command.add_value("--until", &options->until, "STATE",
                    "End as soon as all locks are held, or all free", {"held", "free"});
  command.add_value("--for", &options->span, "DUR",
                    "End after this time, with status 124 if --until is not reached");
  return [&invocation, options] { return run_watch(invocation.globals, *options); };
}

}  // namespace rlock::cli
