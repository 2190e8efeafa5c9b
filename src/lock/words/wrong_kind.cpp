#include "lock/words/wrong_kind.hpp"

#include "base/escape.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::lock {
namespace {

Error wrong_kind(const std::string& name, const std::string& what) {
  return {ExitStatus::wrong_kind, escape_for_terminal(name) + ": " + what};
}

}  // namespace

Error in_use(const std::string& name, const std::string& found) {
  if (found == "plain or fair lock") {
    return wrong_kind(name,
                      "in use as a plain or fair lock: leave out -s or -x, which take a read/write "
                      "lock");
  }
  if (found == "read-write lock") {
    return wrong_kind(name, "in use as a read/write lock: take it with -s or -x");
  }
  if (found == "string") {
    return wrong_kind(name,
                      "a string, not a lock of this kind: if it is a lock, take it with --kind "
                      "simple; if it is a semaphore, with --permits");
  }
  if (found == "number") {
    return wrong_kind(
        name,
        "a string, not a lock of this kind: a number with an expiry: if it is a lock, "
        "take it with --kind simple; if it is a semaphore that has lost its other "
        "keys, delete it when no run has a permit");
  }
  if (found == "hash that is no lock") return wrong_kind(name, "a hash that is not a lock");
  if (found == "hash") return wrong_kind(name, "a hash: a lock of another kind, or no lock");
  for (const char* type : {"list", "set", "zset", "stream"}) {
    if (found == type) return wrong_kind(name, "a " + found + ", not a lock");
  }
  return wrong_kind(
      name, "the name is in use by another kind of lock (" + escape_for_terminal(found) + ")");
}

Error not_a_lock(const std::string& name, const std::string& found, const std::string& advice) {
  return wrong_kind(
      name, "the name is in use by something else (" + escape_for_terminal(found) + ")" + advice);
}

Error doubtful_hash(const std::string& name) {
  return wrong_kind(name,
                    "a hash that might not be a lock: its owners are not UUID:NUMBER: if it is a "
                    "lock, unlock --force --kind hash breaks it");
}

Error no_counter(const std::string& name, const std::string& why) {
  return wrong_kind(name, "no fencing token from " + escape_for_terminal(KeyNames(name).token) +
                              ": " + escape_for_terminal(why));
}

}  // namespace rlock::lock
