#include "lock/servers/refusals.hpp"

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "lock/words/refused.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

namespace {

Refused::Why why_not(const std::string& kind) {
  using Why = Refused::Why;
  if (kind == "plain or fair lock") return Why::is_plain;
  if (kind == "read-write lock") return Why::is_read_write;
  return kind == "string" ? Why::is_string : Why::is_other;
}

std::string explain(Refused::Why why, const std::string& kind) {
  using Why = Refused::Why;
  if (why == Why::is_plain) return "in use as a plain or fair lock";
  if (why == Why::is_read_write) return "in use as a read/write lock";
  if (why == Why::is_string) return "a string, not a lock of this kind";
  if (kind == "hash that is no lock") return "a hash that is not a lock";
  if (kind == "hash") return "a hash: a lock of another kind, or no lock";
  for (const char* type : {"list", "set", "zset", "stream"}) {
    if (kind == type) return "a " + kind + ", not a lock";
  }
  return "the name is in use by another kind of lock (" + escape_for_terminal(kind) + ")";
}

bool is_set_to(const redis::Reply& reply, const char* value) {
  return reply.type == redis::Reply::Type::array && reply.items.size() == 2 &&
         reply.items[1].text == value;
}

}  // namespace

void refuse_kind(const std::string& name, const std::string& kind) {
  const Refused::Why why = why_not(kind);
  throw Refused(why, escape_for_terminal(name) + ": " + explain(why, kind));
}

void refuse_upgrade(const std::string& name) {
  throw Error(ExitStatus::usage, escape_for_terminal(name) +
                                     ": a process above this one reads: a reader cannot become "
                                     "the writer (take the write lock first)");
}

constexpr Milliseconds k_uptime_step{1000};  // servers report whole seconds

void check_restart(redis::Client& client, Milliseconds up, const Terms& terms) {
  const auto replies = client.commands({{"CONFIG", "GET", "appendonly"},
                                        {"CONFIG", "GET", "appendfsync"},
                                        {"CONFIG", "GET", "no-appendfsync-on-rewrite"}});
  // If no-appendfsync-on-rewrite is "yes", even "always" does not wait for the disk while a child
  // of the server saves.
  if (is_set_to(replies[0], "yes") && is_set_to(replies[1], "always") &&
      is_set_to(replies[2], "no")) {
    return;
  }
  throw Restarted(client.options().endpoint.display() + ": it started " +
                  (up < k_uptime_step ? "just now" : format_duration(up) + " ago") +
                  " and may have forgotten a lock: no vote before it is up for " +
                  format_duration(*terms.restart_delay));
}

}  // namespace rlock::lock
