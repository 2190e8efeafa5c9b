#include "cli/output/holder_text.hpp"

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/wall_time.hpp"

namespace rlock::cli {

std::string describe_wait(const lock::Busy& busy, Milliseconds waited, TimePoint deadline) {
  std::string text = "waiting ";
  if (waited.count() > 0) text += format_duration(waited) + " ";
  if (deadline != TimePoint::max()) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - BootClock::now());
    text += "(" + format_seconds(left) + " left) ";
  }
  if (busy.place) text += "at position " + std::to_string(*busy.place + 1) + " ";
  text += "for ";
  const auto kept = describe_kept(busy.owner, busy.holder);
  text += busy.is_free() ? "its turn"
          : kept         ? "a lock that is " + *kept
                         : describe_holder(busy.owner, busy.holder);
  if (!kept && busy.held_for && busy.held_for->count() >= 0) {
    text += ", which has held it for " + format_duration(*busy.held_for);
  }
  if (busy.permits.value_or(1) > 1) {
    const int others = *busy.permits - 1;
    text += others == 1 ? ", or another holder"
                        : ", or one of " + std::to_string(others) + " more holders";
  }
  if (!busy.ttl) text += ", without an expiry";
  return text;
}

std::string describe_holder(const std::string& owner, const lock::About& about) {
  std::string text = owner.empty() ? "an unknown holder" : escape_for_terminal(owner);
  if (!about.host.empty()) {
    text = escape_for_terminal(about.host) + " pid " + std::to_string(about.pid);
    if (!about.command.empty()) text += " (" + escape_for_terminal(about.command) + ")";
  }
  if (!about.note.empty()) text += " \"" + escape_for_terminal(about.note) + "\"";
  return text;
}

std::optional<std::string> describe_kept(const std::string& owner, const lock::About& about) {
  if (about.kept_until_ms == 0) return std::nullopt;
  return "kept until " + utc_time(about.kept_until_ms) + " after the run of " +
         describe_holder(owner, about) + " ended";
}

std::string describe_hold(const std::string& owner, const lock::About& about) {
  return describe_kept(owner, about).value_or("held by " + describe_holder(owner, about));
}

std::string describe_expiry(std::int64_t ttl_ms) {
  return ttl_ms < 0 ? "without an expiry" : "expires in " + format_duration(Milliseconds(ttl_ms));
}

std::string describe_loss(const std::string& name, const std::string& why) {
  return escape_for_terminal(name) + ": lock lost: " + why;
}

}  // namespace rlock::cli
