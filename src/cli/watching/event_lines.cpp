#include "cli/watching/event_lines.hpp"

#include "base/escape.hpp"
#include "base/wall_time.hpp"
#include "cli/output/holder_text.hpp"
#include "cli/output/json.hpp"
#include "cli/output/snapshot_text.hpp"
#include "cli/output/view_text.hpp"

namespace rlock::cli {
namespace {

using lock::Snapshot;

Json start(std::int64_t time_ms, const std::string& name, const std::string& what) {
  return {{"time_ms", time_ms}, {"name", to_utf8(name)}, {"event", what}};
}

Tone tone_of(const LockEvent& event, const Snapshot& snapshot) {
  const std::string& what = event.what;
  if (what == "expired") return Tone::bad;
  if (what == "held" || what == "renewed") return Tone::busy;
  if (what == "state") return snapshot.held ? Tone::busy : Tone::good;
  return what == "released" ? Tone::good : Tone::plain;
}

}  // namespace

std::string describe_event(const LockEvent& event, const Snapshot& snapshot, const Paint& paint) {
  const std::string& what = event.what;
  const bool is_of_queue = what == "queued" || what == "left";
  std::string text = what != "state" ? what : snapshot.held ? "held" : "free";
  const bool is_past = what == "expired" || what == "released";
  const bool is_now = !is_of_queue && !is_past;
  const auto no_lock = is_now ? describe_no_lock(snapshot) : std::nullopt;
  if (is_now) text = no_lock.value_or(if_lock(snapshot.ambiguity) + text);
  if (what == "state") text = "is " + text;
  const lock::About& about = event.party.about;
  if (const auto kept = describe_kept(event.party.owner, about)) {
    text = (what == "state" ? "is " : what + (is_past ? ", was " : ", ")) + *kept;
  } else if (!event.party.owner.empty() && !no_lock) {
    text += what == "expired" ? ", was held by " : " by ";
    text += describe_holder(event.party.owner, about);
  } else if (what == "released") {
    text += " by an unknown owner";
  }
  // What has ended has no expiry: the one that is there is the next holder's.
  const std::int64_t ttl = snapshot.ttl_ms.value_or(0);
  if (is_now && ttl != 0) text += ", " + describe_expiry(ttl);
  if (what == "queued") text += ", position " + std::to_string(event.position);
  if (is_of_queue) {
    text += ", " + std::to_string(snapshot.waiting().value_or(0)) + " waiting";
  } else if (what == "state") {
    text += describe_waiting(snapshot);
  } else if (snapshot.permits) {
    text += ", " + describe_permits(*snapshot.permits);
  }
  if (!event.message.empty()) text += "; " + event.message;
  return paint(tone_of(event, snapshot), text);
}

std::string describe_waiting(const Snapshot& snapshot) {
  std::string text;
  if (snapshot.permits) text += ", " + describe_permits(*snapshot.permits);
  const auto waiting = snapshot.waiting();
  if (!waiting) return text + ", waiters unknown";
  return *waiting == 0 ? text : text + ", " + std::to_string(*waiting) + " waiting";
}

std::string text_line(std::int64_t time_ms, const std::string& name, const std::string& text) {
  return utc_time(time_ms) + " " + escape_for_terminal(name) + " " + text + "\n";
}

std::string json_line(const LockEvent& event, const Snapshot& snapshot) {
  const std::string& what = event.what;
  const lock::Party& party = event.party;
  Json json = start(snapshot.time_ms, snapshot.name, what);
  if (what == "state") json["state"] = state_name(snapshot);
  add_party(json, party);
  json["note"] = text_or_null(party.about.note);
  json["kept_until_ms"] = number_or_null(party.about.kept_until_ms);
  json["ttl_ms"] = value_or_null(snapshot.ttl_ms);
  if (what == "queued") json["position"] = event.position;
  json["waiter_count"] = value_or_null(snapshot.waiting());
  json["listening"] = value_or_null(snapshot.listening);
  if (snapshot.permits) json["permits"] = permits_json(*snapshot.permits);
  json["certain"] = snapshot.is_certain();
  if (!event.message.empty()) json["message"] = event.message;
  if (what == "state") add_role(json, snapshot.replication);
  return to_line(json);
}

std::string json_error_line(const std::string& name, const std::string& why) {
  Json json = start(local_time_ms(), name, "error");
  json["message"] = to_utf8(why);
  return to_line(json);
}

}  // namespace rlock::cli
