#include "lock/words/owner_info.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/escape.hpp"
#include "lock/words/token.hpp"

namespace rlock::lock {
namespace {

// What a member of the object may be: a text or a number, and nothing that has members itself.
using Scalar = std::variant<std::string_view, double>;

std::int64_t to_ms(double number) {
  constexpr auto k_limit = static_cast<double>(k_furthest_ms);
  return static_cast<std::int64_t>(std::clamp(number, -k_limit, k_limit));
}

// Returns 0, which is no process, for a number that no process has.
pid_t to_pid(double number) {
  const bool is_possible = number >= 1 && number <= std::numeric_limits<pid_t>::max();
  return is_possible ? static_cast<pid_t>(number) : 0;
}

void set(OwnerInfo& info, std::string_view name, const Scalar& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    if (name == "host") info.about.host = *text;
    if (name == "user") info.about.user = *text;
    if (name == "command") info.about.command = *text;
    if (name == "note") info.about.note = *text;
    if (name == "process") info.about.process = *text;
    if (name == "kind") info.kind = kind_of(*text);
    if (name == "token") info.token = parse_token(*text);
  } else {
    const double number = std::get<double>(value);
    if (name == "outlived") info.about.kept_until_ms = std::max<std::int64_t>(to_ms(number), 0);
    if (name == "listens") info.about.listens = number != 0;
    if (name == "renews") info.about.renews = number != 0;
    if (name == "lease") info.lease_ms = to_ms(number);
    if (name == "pid") info.about.pid = to_pid(number);
    if (name == "since") info.since_ms = to_ms(number);
    if (name == "due") info.due_ms = to_ms(number);
  }
}

// Reads what lua/include/info.lua writes: an object of texts and numbers without spaces. With
// nlohmann/json alone, `inspect-queue` of 100,000 waiters takes 1.4 to 1.5 times as much processor
// time, and with its SAX reader 1.3 times. Either would miss the limit in docs/performance.md.
class PlainObject {
 public:
  explicit PlainObject(const std::string& json) : rest_(json) {}

  // Returns nothing for what is not so plain, be it JSON or not.
  std::optional<OwnerInfo> read() {
    OwnerInfo info;
    if (!skip('{')) return std::nullopt;
    do {
      const auto read = read_text();
      if (!read || !skip(':')) return std::nullopt;
      const std::string name(*read);
      const auto value = read_value();
      if (!value) return std::nullopt;
      set(info, name, *value);
    } while (skip(','));
    if (rest_ != "}") return std::nullopt;
    return info;
  }

 private:
  bool skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Returns a view that holds until the next text is read.
  std::optional<std::string_view> read_text() {
    if (!skip('"')) return std::nullopt;
    const auto is_special = [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return c == '"' || c == '\\' || byte < 0x20 || byte >= 0x80;
    };
    const auto read_plain = [&] {
      const auto end = std::ranges::find_if(rest_, is_special);
      const std::string_view text(rest_.data(), static_cast<std::size_t>(end - rest_.begin()));
      rest_.remove_prefix(text.size());
      return text;
    };
    std::string_view text = read_plain();
    // A slash is what the server's cjson escapes without need.
    if (rest_.starts_with("\\/")) {
      with_slashes_ = text;
      while (rest_.starts_with("\\/")) {
        rest_.remove_prefix(2);
        with_slashes_.append("/").append(read_plain());
      }
      text = with_slashes_;
    }
    if (!skip('"')) return std::nullopt;
    return text;
  }

  std::optional<Scalar> read_value() {
    if (rest_.starts_with('"')) return read_text();
    // JSON has no number that starts in another way.
    const std::size_t sign = rest_.starts_with('-') ? 1 : 0;
    if (rest_.size() <= sign || rest_[sign] < '1' || rest_[sign] > '9') return std::nullopt;
    // std::from_chars for this type would have every run load libm.
    char* after = nullptr;
    const double number = std::strtod(rest_.data(), &after);
    const auto digits = rest_.substr(0, static_cast<std::size_t>(after - rest_.data()));
    // strtod needs no digit after a point, JSON does.
    const std::size_t point = digits.find('.');
    if (point != std::string_view::npos && digits.find_first_of("0123456789", point) != point + 1) {
      return std::nullopt;
    }
    rest_.remove_prefix(digits.size());
    return number;
  }

  std::string_view rest_;
  std::string with_slashes_;
};

OwnerInfo parse_any(const std::string& json) {
  OwnerInfo info;
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return info;
  for (const auto& [name, value] : parsed.items()) {
    if (value.is_string()) {
      set(info, name, std::string_view(value.get_ref<const std::string&>()));
    } else if (value.is_number()) {
      set(info, name, value.get<double>());
    }
  }
  return info;
}

}  // namespace

std::string to_json(const About& about) {
  auto json = nlohmann::json::object();
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) json[name] = to_utf8(value);
  };
  add("host", about.host);
  add("user", about.user);
  add("command", about.command);
  add("note", about.note);
  add("process", about.process);
  if (about.pid != 0) json["pid"] = about.pid;
  if (about.listens) json["listens"] = 1;
  if (about.renews) json["renews"] = 1;
  return json.empty() ? "" : json.dump();
}

OwnerInfo parse_owner_info(const std::string& json) {
  if (auto info = PlainObject(json).read()) return std::move(*info);
  return parse_any(json);
}

bool tells_of_end(const std::string& json, const std::string& hold_id) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return false;
  const auto ended = parsed.find("ended");
  return ended != parsed.end() && ended->is_array() &&
         std::find(ended->begin(), ended->end(), hold_id) != ended->end();
}

}  // namespace rlock::lock
