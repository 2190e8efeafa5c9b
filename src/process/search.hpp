// Searches all processes of the machine for the processes of a command.
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

#include "base/process_stat.hpp"
#include "process/descendants.hpp"

namespace rlock::process {

// Returns the children of this process, including zombies. Returns nothing if the machine lacks
// what the search needs, such as descriptors.
[[nodiscard]] std::optional<std::vector<ProcessStat>> find_children();

// Reserves as many descriptors as a Search needs. A Search must also work when no descriptor is
// left, because a process that it does not find is not ended. Throws Error (unavailable) if there
// are too few. One call is enough for a process.
void keep_room_for_search();

// Returns whether a process is a helper of rlock that has renamed itself so. Another program may
// have this name, but it is not a fork of rlock.
[[nodiscard]] inline bool is_helper(const ProcessStat& stat, const char* name) {
  return stat.name == name && stat.has_only_forked();
}

// All processes at one moment. The constructor takes time in proportion to their number.
class Search {
 public:
  // How often at most to look for what lives for a moment only.
  static constexpr int k_most_tries = 100;

  // `newest`: only the newest living child of the tree's root, in the time that its children take.
  enum class Extent { all, newest };
  explicit Search(const CommandProcesses& tree, Extent extent = Extent::all);

  // Returns false if the search may have missed a process of the tree. Either the machine lacked
  // what the search needs, such as descriptors. Or the tree's root got a child during the search.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }

  struct Process : ProcessStat {
    bool belongs = false;  // to the tree
  };

  // Returns a process, or null.
  [[nodiscard]] const Process* find(pid_t pid) const;

  // Returns whether a process is in the tree's group.
  [[nodiscard]] bool is_in_group(const ProcessStat& stat) const;

  // Calls `action` with each living process that belongs to the tree.
  template <typename Action>
  void for_each_member(Action action) const {
    for (const Process& process : all_) {
      if (process.belongs && !process.is_dead()) action(process);
    }
    if (late_) action(*late_);
  }

 private:
  [[nodiscard]] bool is_excluded(const ProcessStat& stat) const;
  [[nodiscard]] bool is_first(const ProcessStat& stat) const;
  void add(Process& first, const std::vector<Process*>& by_parent);
  void look_at_all();
  void look_at_children();
  void chase_newest_child();
  void note_failure();

  const CommandProcesses& tree_;
  pid_t self_;
  std::uint64_t since_;              // the command's start, or 0: unknown
  std::vector<Process> all_;         // sorted by their numbers
  std::optional<ProcessStat> late_;  // the last member to become a child of the root meanwhile
  bool is_complete_ = true;
};

}  // namespace rlock::process
