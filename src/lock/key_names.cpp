#include "lock/key_names.hpp"

#include "base/error.hpp"

namespace rlock::lock {
namespace {

// Redisson's rule: a name with a brace of its own is not wrapped in braces.
std::string in_braces(const std::string& name) {
  const bool has_brace = name.find('{') != std::string::npos;
  return has_brace ? name : "{" + name + "}";
}

std::string prefixed(const char* prefix, const std::string& name) {
  return std::string(prefix) + ":" + in_braces(name);
}

}  // namespace

void check_name(std::string_view name) {
  if (name.empty() || name.size() > k_longest_name) {
    throw Error(ExitStatus::usage, "bad lock name: it has " + std::to_string(name.size()) +
                                       " bytes; expected 1 to 1024");
  }
}

KeyNames::KeyNames(const std::string& name)
    : lock(name),
      channel(prefixed("redisson_lock__channel", name)),
      read_write_channel(prefixed("redisson_rwlock", name)),
      semaphore_channel(prefixed("redisson_sc", name)),
      permits(in_braces(name) + ":timeout"),
      queue(prefixed("redisson_lock_queue", name)),
      timeout(prefixed("redisson_lock_timeout", name)),
      token(prefixed("redisson_lock_token", name)),
      info(prefixed("rlock_info", name)),
      latch_prefix(prefixed("redisson_unlock_latch", name) + ":"),
      reader_prefix(in_braces(name) + ":") {}

}  // namespace rlock::lock
