#include "cli/output/holder_text.hpp"

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/wall_time.hpp"
#include "base/wording.hpp"

namespace rlock::cli {

std::string describe_holder(const std::string& owner, const lock::About& about) {
  std::string text = owner.empty() ? "an unknown holder" : escape_for_terminal(owner);
  if (!about.host.empty()) {
    text = escape_for_terminal(about.host);
    if (about.pid != 0) text += " pid " + std::to_string(about.pid);
    if (!about.command.empty()) text += " (" + escape_for_terminal(about.command) + ")";
  }
  if (!about.note.empty()) text += " \"" + escape_for_terminal(about.note) + "\"";
  return text;
}

std::optional<std::string> describe_kept(const std::string& owner, const lock::About& about) {
  if (about.kept_until_ms == 0) return std::nullopt;
  return "kept by --at-least until " + utc_time(about.kept_until_ms) + " after the run of " +
         describe_holder(owner, about) + " ended";
}

std::string describe_dead(std::size_t dead, std::size_t waiters) {
  const std::string all = plural(waiters, "waiter");
  if (dead == waiters)
    return (dead == 1 ? "the only waiter is" : "all " + all + " are") + std::string(" dead");
  return std::to_string(dead) + " of " + all + (dead == 1 ? " is dead" : " are dead");
}

std::string if_lock(lock::Ambiguity ambiguity) {
  if (ambiguity == lock::Ambiguity::none) return "";
  return std::string(ambiguity == lock::Ambiguity::string ? "a string" : "a hash") +
         "; if it is a lock, it is ";
}

std::string describe_expiry(std::int64_t ttl_ms) {
  return ttl_ms < 0 ? "without an expiry" : "expires in " + format_duration(Milliseconds(ttl_ms));
}

std::string describe_loss(const std::string& name, const std::string& why) {
  return escape_for_terminal(name) + ": lock lost: " + why;
}

}  // namespace rlock::cli
