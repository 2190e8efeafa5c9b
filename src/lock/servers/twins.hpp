// Servers of a quorum that are one and the same, which only their answers tell.
#pragma once

#include <cstddef>
#include <memory>

#include "lock/servers/session.hpp"

namespace rlock::lock {

// To be asked of each server before what it answers counts: where two of a majority are one, that
// is known by then. Copies are for the servers' threads.
class TwinCheck {
 public:
  TwinCheck() = default;  // asks nobody
  // Costs a question to each server where some look alike, otherwise nothing.
  explicit TwinCheck(const Session& session)
      : runs_(session.has_look_alikes() ? session.absentees() : nullptr) {}

  // Notes which run of the server, counted from 0, answers. Throws as redis::Client::command, and
  // redis::ServerError if it may not be asked.
  void note(std::size_t server, redis::Client& client) const;

 private:
  std::shared_ptr<Absentees> runs_;
};

// Throws Refused if two of the session's servers were found to be one.
void refuse_twins(const Session& session);

}  // namespace rlock::lock
