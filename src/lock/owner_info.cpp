#include "lock/owner_info.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/escape.hpp"

namespace rlock::lock {
namespace {

using Json = nlohmann::json;

std::string text(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::int64_t> number(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  constexpr auto k_limit = static_cast<double>(k_furthest_ms);
  return static_cast<std::int64_t>(std::clamp(found->get<double>(), -k_limit, k_limit));
}

}  // namespace

std::string to_json(const About& about) {
  Json json = Json::object();
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) json[name] = to_utf8(value);
  };
  add("host", about.host);
  add("user", about.user);
  add("command", about.command);
  add("note", about.note);
  add("process", about.process);
  if (about.pid != 0) json["pid"] = about.pid;
  return json.empty() ? "" : json.dump();
}

OwnerInfo parse_owner_info(const std::string& json) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (!parsed.is_object()) return {};
  OwnerInfo info;
  info.about.host = text(parsed, "host");
  info.about.user = text(parsed, "user");
  info.about.command = text(parsed, "command");
  info.about.note = text(parsed, "note");
  info.about.process = text(parsed, "process");
  info.about.pid = static_cast<pid_t>(number(parsed, "pid").value_or(0));
  info.kind = text(parsed, "kind");
  info.since_ms = number(parsed, "since");
  info.due_ms = number(parsed, "due");
  return info;
}

}  // namespace rlock::lock
