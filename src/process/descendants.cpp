#include "process/descendants.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <set>
#include <signal.h>
#include <utility>

#include "base/error.hpp"
#include "base/process_stat.hpp"
#include "process/guardian.hpp"
#include "process/search.hpp"

namespace rlock::process {
namespace {

// Returns the living inner runs of rlock, which forward signals to their commands. The parent of a
// guardian is its rlock, while that rlock lives.
std::set<pid_t> inner_runs(const Search& search) {
  std::set<pid_t> runs;
  search.for_each_member([&](const ProcessStat& stat) {
    const auto* parent = is_helper(stat, k_guardian_name) ? search.find(stat.parent) : nullptr;
    if (parent != nullptr && parent->belongs) runs.insert(parent->pid);
  });
  return runs;
}

// Returns whether a process is in the group to which an inner run forwards signals. The leader of
// this group is the run's child. It is not a daemon, which would have a session of its own.
bool is_told_by_inner_run(const Search& search, const std::set<pid_t>& runs,
                          const ProcessStat& stat) {
  const ProcessStat* leader = search.find(stat.group);
  return leader != nullptr && runs.contains(leader->parent) &&
         stat.session == search.find(leader->parent)->session;
}

}  // namespace

std::vector<Identity> children_of_this_process() {
  const auto children = find_children();
  if (!children) {
    throw Error(ExitStatus::unavailable, "cannot look at the processes of this one");
  }
  std::vector<Identity> identities;
  for (const ProcessStat& stat : *children) identities.push_back({stat.pid, stat.start});
  return identities;
}

Orphans find_orphaned_guardians(pid_t own, pid_t command) {
  const auto children = find_children();
  if (!children) return Orphans::unknown;
  Orphans found = Orphans::none;
  for (const ProcessStat& stat : *children) {
    if (stat.pid == own || stat.pid == command || stat.is_dead() ||
        !is_helper(stat, k_guardian_name)) {
      continue;
    }
    // Also state t: in a debugger, which SIGCONT does not change.
    const bool is_stopped = stat.state == 'T' || stat.state == 't';
    if (is_stopped) ::kill(stat.pid, SIGCONT);
    if (found != Orphans::stuck) found = is_stopped ? Orphans::stuck : Orphans::at_work;
  }
  return found;
}

bool is_gone(const CommandProcesses& tree) {
  const Search search(tree);
  bool any = false;
  search.for_each_member([&](const ProcessStat&) { any = true; });
  return search.is_complete() && !any;
}

void terminate(const CommandProcesses& tree) {
  const Search search(tree);
  const std::set<pid_t> runs = inner_runs(search);
  std::vector<pid_t> alone;
  // Without a process in it, the number may be another group's by now.
  bool has_group = tree.group != 0 && tree.keeps_group && !search.is_complete();
  search.for_each_member([&](const ProcessStat& stat) {
    if (search.is_in_group(stat)) {
      has_group = true;
    } else if (!is_told_by_inner_run(search, runs, stat)) {
      alone.push_back(stat.pid);
    }
  });
  for (const int signal : {SIGTERM, SIGCONT}) {
    // Signals the whole group at once. Otherwise a script could see its program end and start the
    // next program before it gets the signal itself.
    if (has_group) ::kill(-tree.group, signal);
    for (const pid_t pid : alone) ::kill(pid, signal);
  }
}

Killed kill_now(const CommandProcesses& tree) {
  // Needs no search. Once: when rlock has died, others may get the number.
  if (tree.keeps_group && tree.group != 0) ::kill(-tree.group, SIGKILL);
  std::set<pid_t> killed;
  Killed result;
  // Returns whether any of them is new, or lives for a moment only.
  const auto kill_members = [&](const CommandProcesses& searched, Search::Extent extent) {
    bool any_new = false;
    const Search search(searched, extent);
    result.all = search.is_complete();
    search.for_each_member([&](const ProcessStat& stat) {
      result.all = false;
      result.any = true;
      const bool is_new = killed.insert(stat.pid).second;
      if (is_new && ::kill(stat.pid, SIGKILL) != 0 && errno == EPERM) result.unkillable = stat.pid;
      const bool dies = extent == Search::Extent::newest && result.unkillable != stat.pid;
      any_new = any_new || is_new || dies;
    });
    return any_new;
  };
  // What hands on to a child all the time may have done so long before a look at all has ended.
  for (int n = 0; n < Search::k_most_tries && kill_members(tree, Search::Extent::newest); ++n) {
    ::usleep(200);  // the busier the machine, the longer it takes to die
  }
  // Those that are known without a look at any environment, which takes longest, die next.
  CommandProcesses known = tree;
  known.marker.clear();
  kill_members(known, Search::Extent::all);
  // A process may fork between being seen and being killed: look again until nothing new is there.
  while (kill_members(tree, Search::Extent::all)) {
  }
  return result;
}

Nanoseconds note_members(CommandProcesses& tree) {
  const auto used = [] {
    timespec ts{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return std::chrono::seconds(ts.tv_sec) + Nanoseconds(ts.tv_nsec);
  };
  const Nanoseconds before = used();
  std::vector<Identity> members;
  const Search search(tree);
  if (const ProcessStat* leader = search.find(tree.group); tree.since == 0 && leader != nullptr) {
    tree.since = leader->start;
  }
  search.for_each_member([&](const ProcessStat& stat) {
    members.push_back({stat.pid, stat.start});
  });
  if (!search.is_complete()) {
    members.insert(members.end(), tree.members.begin(), tree.members.end());
    std::ranges::sort(members);
  }
  tree.members = std::move(members);
  return used() - before;
}

}  // namespace rlock::process
