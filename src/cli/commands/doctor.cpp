// rlock doctor: finds problems of a server and the locks on it, and repairs some of them.

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <unistd.h>

#include "base/escape.hpp"
#include "base/text_width.hpp"
#include "base/wording.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/paint.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/view_text.hpp"
#include "cli/terminal/terminal_size.hpp"
#include "lock/inspection/leftovers.hpp"
#include "lock/inspection/listened.hpp"
#include "lock/inspection/lock_scan.hpp"
#include "lock/inspection/repair.hpp"
#include "lock/inspection/server_health.hpp"
#include "lock/inspection/snapshot.hpp"
#include "lock/inspection/snapshot_problems.hpp"
#include "lock/words/key_names.hpp"
#include "redis/masters.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

struct DoctorOptions {
  std::optional<std::string> name;
  bool repair = false;
  bool dry_run = false;
};

// Prints each finding as it comes, and counts.
class Report {
 public:
  Report(bool json, const Paint& paint) : json_(json), paint_(paint) {}

  // `name`: the lock's name, or nothing for the server.
  void add(const std::optional<std::string>& name, const char* level, const ProblemText& problem) {
    ++counts_[level];
    if (json_) {
      return print(to_line({{"scope", name ? "lock" : "server"},
                            {"name", name ? Json(to_utf8(*name)) : Json(nullptr)},
                            {"level", level},
                            {"code", problem.code},
                            {"detail", to_utf8(problem.detail)},
                            {"hint", text_or_null(problem.hint.text)}}));
    }
    std::string text =
        (name ? escape_for_terminal(*name) : "the server") + ": " +
        paint_(tone_of(level), std::string(level) + ": " + problem.code) + "\n" +
        wrap(escape_for_terminal(problem.detail), 4, terminal_columns(STDOUT_FILENO));
    // A command stays whole: it is there to be pasted.
    if (!problem.hint.text.empty()) {
      text += "    hint: " + escape_for_terminal(problem.hint.text) + "\n";
    }
    print(text);
  }

  // `left_out`: what was not looked at, or empty. `is_part`: there may be locks that could not be
  // looked at.
  void end(std::size_t locks, const std::string& left_out, bool is_part) const {
    if (json_) return;
    std::string text = "looked at the server and " + plural(locks, "lock") + left_out + ": ";
    if (is_healthy()) {
      text += is_part      ? "no problem found there"
              : is_unsure_ ? "no problem found, but not everything is known"
                           : paint_(Tone::good, "healthy");
    }
    for (const auto& [level, count] : counts_) {
      text += (text.ends_with(": ") ? "" : ", ") + std::to_string(count) + " " + level +
              (count != 1 && (level == "problem" || level == "note") ? "s" : "");
    }
    print(text + "\n");
  }

  // Notes that what was found does not show whether all is well.
  void doubt() { is_unsure_ = true; }

  // A problem that was told as something else, and counts nevertheless.
  void note_problem() { has_other_problem_ = true; }

  [[nodiscard]] bool is_healthy() const {
    return !has_other_problem_ && !counts_.contains("problem");
  }

 private:
  static Tone tone_of(const std::string& level) {
    return level == "problem" ? Tone::bad : level == "note" ? Tone::busy : Tone::good;
  }
  bool json_;
  Paint paint_;
  std::map<std::string, std::size_t> counts_;
  bool is_unsure_ = false;
  bool has_other_problem_ = false;
};

class Doctor {
 public:
  Doctor(const Globals& globals, redis::Client& client, const DoctorOptions& options)
      : globals_(globals),
        client_(client),
        options_(options),
        report_(globals.json, find_paint(globals)) {}

  // Looks at all that answers, even if another server of a cluster does not; then throws.
  int run() {
    const redis::Masters masters(client_);
    std::exception_ptr failure;
    try {
      masters.for_each([&](redis::Client& master) { look_at(master); });
    } catch (const Error&) {
      failure = std::current_exception();
      if (masters.clients().size() == 1) throw;
    }
    const std::size_t locks = options_.name ? examine_named() : examine_all();
    if (failure) std::rethrow_exception(failure);
    report_.end(locks, describe_strings(), unread_ > 0);
    if (unread_ > 0 && !globals_.quiet) say("doctor: " + describe_left_out(unread_));
    return report_.is_healthy() ? 0 : static_cast<int>(ExitStatus::problems);
  }

 private:
  // Examines a server, and notes what locks it has.
  void look_at(redis::Client& master) {
    examine_server(master);
    for (auto& [name, keys] : lock::find_leftovers(master, options_.name)) {
      names_.insert(name);
      leftovers_[name].insert(leftovers_[name].end(), keys.begin(), keys.end());
    }
    listened_.merge(lock::listened_locks(master, options_.name, client_.is_cluster()));
    if (options_.name) return;
    lock::LockScan scan(master, {.simple = "", .counts_alike = true});
    while (!scan.is_done()) {
      for (const std::string& name : scan.next()) names_.insert(name);
    }
    unread_ += scan.unread();
    strings_.add(scan);
  }

  // Applications keep such strings for other purposes, too.
  [[nodiscard]] std::string describe_strings() const {
    if (strings_.count == 0) return "";
    return ", not at " + strings_.describe(" that") + " (see list --simple)";
  }

  // Both return how many locks were examined.
  std::size_t examine_named() {
    const lock::Snapshot snapshot = lock::take_snapshot(client_, *options_.name);
    const auto pattern = describe_pattern(snapshot, Remedies(globals_, client_));
    if (pattern && !globals_.quiet) say(*pattern);
    examine(snapshot);
    return 1;
  }
  std::size_t examine_all() {
    names_.insert(listened_.locks.begin(), listened_.locks.end());
    names_.insert(listened_.semaphores.begin(), listened_.semaphores.end());
    std::size_t examined = 0;
    lock::take_snapshots(client_, {names_.begin(), names_.end()}, [&](const auto& snapshot) {
      if (!snapshot) {
        ++unread_;
        return;
      }
      examine(*snapshot);
      ++examined;
    });
    return examined;
  }

  // Of a cluster, this is one of its masters.
  void examine_server(redis::Client& server) {
    const lock::ServerFacts facts = lock::read_server_facts(server, options_.name);
    const Remedies remedies(globals_, client_.options().endpoint, server);
    for (const lock::Finding& finding : lock::find_server_problems(facts)) {
      // Whoever asks a cluster knows that it is one.
      if (client_.is_cluster() && std::holds_alternative<lock::OneOfCluster>(finding.problem))
        continue;
      ProblemText problem = describe_problem(finding.problem, remedies);
      if (client_.is_cluster()) {
        problem.detail = server.options().endpoint.display() + ": " + problem.detail;
      }
      if (std::holds_alternative<lock::EmptyDatabase>(finding.problem)) report_.doubt();
      const bool is_problem = finding.level == lock::Level::problem;
      report_.add(std::nullopt, is_problem ? "problem" : "note", problem);
    }
  }

  void examine(const lock::Snapshot& snapshot) {
    const std::string& name = snapshot.name;
    const std::vector<std::string>& leftovers = leftovers_[name];
    std::vector<lock::Problem> problems = snapshot.problems;
    std::ranges::move(lock::find_leftover_problems(name, leftovers), std::back_inserter(problems));
    // A dead waiter that is not the first, or a permit that has just ended, is no problem.
    const bool has_dead =
        std::ranges::find(snapshot.waiters, false, &lock::Waiter::alive) != snapshot.waiters.end();
    const bool may_have_waste =
        !problems.empty() || has_dead || (snapshot.permits && snapshot.permits->ended > 0);
    if ((options_.repair || options_.dry_run) && may_have_waste) {
      const auto mode = options_.dry_run ? lock::Repair::look : lock::Repair::repair;
      const auto fixes = lock::repair(client_, snapshot, leftovers, mode);
      for (const lock::Fix& fix : fixes) {
        report_.add(
            name, options_.dry_run ? "repairable" : "repaired",
            {.detail = (options_.dry_run ? "to be " : "") + describe_fix(fix), .code = fix.code});
      }
      if (options_.dry_run) {  // what is repairable has been told as such
        const auto is_told = [&](const lock::Problem& problem) { return can_mend(fixes, problem); };
        if (std::erase_if(problems, is_told) > 0) report_.note_problem();
      }
      if (!fixes.empty() && !options_.dry_run) {
        problems = lock::take_snapshot(client_, name).problems;
        // A semaphore of which no permit is out any more looks like a string without an end.
        if (snapshot.permits) {
          std::erase_if(problems, [](const lock::Problem& problem) {
            const auto* lasting = std::get_if<lock::NoExpiry>(&problem);
            return lasting != nullptr && !lasting->permits;
          });
        }
      }
    }
    const Remedies remedies(globals_, client_);
    for (const ProblemText& problem : describe_problems(problems, snapshot, remedies)) {
      report_.add(name, "problem", problem);
    }
    if (snapshot.unknown_waiters) {
      report_.doubt();
      report_.add(name, "note", describe_problem(*snapshot.unknown_waiters, snapshot, remedies));
    }
    if (const auto number = lock::find_lone_number(snapshot)) {
      report_.doubt();
      report_.add(name, "note", describe_problem(*number, snapshot, remedies));
    }
    if (const auto sleepers = lock::find_sleepers(snapshot, listened_)) {
      report_.add(name, "note", describe_problem(*sleepers, snapshot, remedies));
    }
  }

  // A dead head is mended by what removes that waiter.
  static bool can_mend(const std::vector<lock::Fix>& fixes, const lock::Problem& problem) {
    const auto* const head = std::get_if<lock::DeadHead>(&problem);
    const std::string code = lock::code_of(problem);
    return std::ranges::any_of(fixes, [&](const lock::Fix& fix) {
      return head == nullptr ? fix.code == code : fix.found.first == head->owner;
    });
  }

  const Globals& globals_;
  redis::Client& client_;
  const DoctorOptions& options_;
  Report report_;
  std::set<std::string> names_;  // of locks
  lock::Leftovers leftovers_;
  std::int64_t unread_ = 0;  // keys
  AlikeStrings strings_;
  lock::Listened listened_;  // locks for whose release somebody waits, or watches
};

int run_doctor(const Globals& globals, const DoctorOptions& options) {
  if (options.name) lock::check_name(*options.name);
  redis::Client client(globals.client_options("doctor"));
  try {
    return Doctor(globals, client, options).run();
  } catch (const redis::ServerError& error) {
    if (!error.lacks_unnamed_right()) throw;
    // Another command would advise to run this one.
    throw Error(error.status(), error.message_with("see Access control in man rlock"));
  }
}

}  // namespace

Action set_up_doctor(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<DoctorOptions>();
  command.set_usage("rlock doctor [--repair | --dry-run] [NAME]");
  command.add_argument("NAME", &options->name, "Check only this lock [all]",
                       OptionSet::Need::optional);
  command.add_flag("--repair", options->repair,
                   "Remove what nobody can need any more, and say what was removed");
  command.add_flag("--dry-run", options->dry_run, "Only say what --repair would remove");
  command.exclude("--dry-run", {"--repair"});
  return [&invocation, options] { return run_doctor(invocation.globals, *options); };
}

}  // namespace rlock::cli
