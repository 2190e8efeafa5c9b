#include "lock/servers/refusals.hpp"

#include "base/duration.hpp"
#include "base/error.hpp"
#include "base/escape.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

namespace {

std::string explain(const std::string& kind) {
  if (kind == "plain or fair lock") {
    return "in use as a plain or fair lock, and -s and -x take a read/write lock: leave them out";
  }
  if (kind == "read-write lock") return "in use as a read/write lock: take it with -s or -x";
  if (kind == "string") return "a string, not a lock, unless it is one of --kind simple";
  if (kind == "hash that is no lock") return "a hash that is not a lock";
  for (const char* type : {"list", "set", "zset", "stream"}) {
    if (kind == type) return "a " + kind + ", not a lock";
  }
  return "the name is in use by another kind of lock (" + escape_for_terminal(kind) + ")";
}

}  // namespace

void refuse_kind(const std::string& name, const std::string& kind) {
  throw Error(ExitStatus::wrong_kind, escape_for_terminal(name) + ": " + explain(kind));
}

void refuse_upgrade(const std::string& name) {
  throw Error(ExitStatus::usage, escape_for_terminal(name) +
                                     ": a process above this one reads: a reader cannot become "
                                     "the writer (take the write lock first)");
}

void refuse_vote(const redis::Client& client, Milliseconds up, const Terms& terms) {
  throw redis::Unavailable(client.options().endpoint.display() + ": it started " +
                           format_duration(up) +
                           " ago and may have forgotten a lock: no vote before it is up for " +
                           format_duration(*terms.restart_delay));
}

}  // namespace rlock::lock
