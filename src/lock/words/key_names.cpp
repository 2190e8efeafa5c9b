#include "lock/words/key_names.hpp"

#include <array>

#include "base/error.hpp"
#include "base/escape.hpp"

namespace rlock::lock {
namespace {

// Redisson's rule: a name with a brace of its own is not wrapped in braces.
std::string in_braces(const std::string& name) {
  const bool has_brace = name.find('{') != std::string::npos;
  return has_brace ? name : "{" + name + "}";
}

Key prefixed(const char* prefix, const std::string& name) {
  return Key(std::string(prefix) + ":" + in_braces(name));
}

// What the keys of locks begin with: rlock's own, and Redisson's.
constexpr std::array<std::string_view, 8> k_prefixes{
    "rlock_info:",    "rlock_info_braced:", "rlock_runs:",  "rlock_runs_braced:",
    "redisson_lock_", "redisson_rwlock:",   "redisson_sc:", "redisson_unlock_latch:"};

// Returns whether Redisson gives this name to the key of a reader's hold.
bool is_reader_key(std::string_view name) {
  constexpr std::string_view k_part = ":rwlock_timeout:";
  const std::size_t part = name.rfind(k_part);
  if (part == std::string_view::npos || name.find('{') >= part) return false;
  const std::string_view number = name.substr(part + k_part.size());
  return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

Error bad_name(std::string_view name, const std::string& why) {
  return {ExitStatus::usage,
          "bad lock name: '" + escape_for_terminal(name) + "' " + why + "; choose another name"};
}

constexpr const char* k_taken = "2";
constexpr const char* k_braced_taken = "3";

}  // namespace

void check_name(std::string_view name) {
  if (name.empty() || name.size() > k_longest_name) {
    throw Error(ExitStatus::usage, "bad lock name: it has " + std::to_string(name.size()) +
                                       " bytes; expected 1 to " + std::to_string(k_longest_name));
  }
  for (const std::string_view prefix : k_prefixes) {
    if (name.starts_with(prefix)) {
      throw bad_name(name,
                     "begins with '" + std::string(prefix) + "', as the keys of other locks do");
    }
  }
  if (is_reader_key(name)) throw bad_name(name, "is the key of another lock's reader");
}

bool is_braced(const std::string& name) {
  return name.size() > 2 && name.starts_with('{') && name.ends_with('}') &&
         name.find('{', 1) == std::string::npos;
}

std::optional<std::string> brace_alias(const std::string& name) {
  if (is_braced(name)) return name.substr(1, name.size() - 2);
  if (name.find('{') != std::string::npos) return std::nullopt;
  return in_braces(name);
}

std::string taken_message(const std::string& name) {
  return is_braced(name) ? k_braced_taken : k_taken;
}

bool tells_of_taking(std::string_view channel, std::string_view message) {
  if (channel.starts_with("redisson_sc:")) return message == k_none_left_message;
  return message == k_taken || message == k_braced_taken;
}

KeyNames::KeyNames(const std::string& name)
    : lock(name),
      channel(prefixed("redisson_lock__channel", name)),
      read_write_channel(prefixed("redisson_rwlock", name)),
      semaphore_channel(prefixed("redisson_sc", name)),
      permits(Key(in_braces(name) + ":timeout")),
      queue(prefixed("redisson_lock_queue", name)),
      scores(prefixed("redisson_lock_timeout", name)),
      token(prefixed("redisson_lock_token", name)),
      info(prefixed(is_braced(name) ? "rlock_info_braced" : "rlock_info", name)),
      latch_prefix(prefixed("redisson_unlock_latch", name) + ":"),
      reader_prefix(in_braces(name) + ":") {}

}  // namespace rlock::lock
