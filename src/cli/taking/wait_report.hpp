// The messages on stderr while rlock waits for a lock, and when it does not get the lock.
#pragma once

#include <optional>
#include <string>

#include "cli/settings/globals.hpp"
#include "cli/taking/taking.hpp"
#include "cli/terminal/transient_line.hpp"
#include "lock/kinds/lock.hpp"

namespace rlock::cli {

// The messages of one wait. With -q there are none. Some messages need -v.
class WaitReport {
 public:
  // Both must outlive this object.
  WaitReport(const Request& request, const Globals& globals);

  void tell_outage(const Error& error);
  // Reports servers of a quorum that take no part, each once.
  void report_unreachable();
  void tell_wait(const lock::Lock& lock, const lock::Busy& busy);
  // Returns whether the holder's process has ended, as far as this machine can see. Then ask the
  // server once more, because the process may have released the lock meanwhile.
  [[nodiscard]] bool doubts(const lock::Busy& busy);
  void tell_refusal(const lock::Lock& lock, const lock::Busy& busy);
  void tell_grant(const lock::Lock& lock);

 private:
  void warn(const std::string& text);
  void tell_still_waiting(const lock::Busy& busy);
  void warn_of_timeout();
  void warn_of_lasting(const lock::Busy& busy);
  void warn_of_mix(const lock::Lock& lock);
  void warn_of_ancestor(const lock::Busy& busy);
  [[nodiscard]] std::string remedy() const;
  [[nodiscard]] std::string remedy(const lock::Busy& busy) const;
  [[nodiscard]] std::string lasting_remedy(const lock::Busy& busy) const;

  const Request& request_;
  const Globals& globals_;
  TransientLine status_line_;       // on a terminal: what the wait is for
  std::optional<TimePoint> begin_;  // of the wait, if -v reports it
  TimePoint next_ = TimePoint::min();
  std::string dead_;  // identity of a holder's process that has ended
  bool warned_of_lasting_ = false;
  bool warned_of_mix_ = false;
  bool warned_of_ancestor_ = false;
  bool warned_of_twin_ = false;
};

}  // namespace rlock::cli
