#include "lock/inspection/server_info.hpp"

#include <string_view>

#include "base/integer.hpp"
#include "base/words.hpp"

namespace rlock::lock {
namespace {

// A master sends something every 10 s, unless repl-ping-replica-period says otherwise. Holders
// renew the default lease every 10 s, so that a lock seems free 20 s after the last renewal came.
constexpr Milliseconds k_longest_silence{15'000};

std::string text_of(const ServerInfo& info, const std::string& name) {
  const auto found = info.find(name);
  return found == info.end() ? "" : found->second;
}

// Returns the value of `key` in "key=value,other=value".
std::string part_of(std::string_view text, std::string_view key) {
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.substr(0, equals) == key) {
      return std::string(part.substr(equals + 1));
    }
  }
  return "";
}

// Returns a number of seconds, which INFO gives as -1 where it does not know it.
std::optional<Milliseconds> seconds_of(const ServerInfo& info, const char* name) {
  const auto seconds = parse_integer<std::uint32_t>(text_of(info, name));
  return seconds ? std::optional(Milliseconds(std::int64_t{*seconds} * 1000)) : std::nullopt;
}

}  // namespace

ServerInfo parse_info(const std::string& text) {
  ServerInfo info;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    info[std::string(line.substr(0, colon))] = line.substr(colon + 1);
  }
  return info;
}

bool Replication::is_stale() const {
  return master && (!is_linked || age.value_or(Milliseconds(0)) > k_longest_silence);
}

Milliseconds Replication::longest_delay() const {
  return master ? 2 * k_longest_silence : Milliseconds(0);  // its master may be a replica, too
}

std::optional<Replication> replication_of(const ServerInfo& info) {
  const std::string role = text_of(info, "role");
  if (role.empty()) return std::nullopt;
  Replication replication;
  if (role == "slave") {
    replication.master = {text_of(info, "master_host"),
                          parse_integer<std::uint16_t>(text_of(info, "master_port")).value_or(0)};
    replication.is_linked = text_of(info, "master_link_status") == "up";
    replication.age = seconds_of(info, replication.is_linked ? "master_last_io_seconds_ago"
                                                             : "master_link_down_since_seconds");
  }
  for (std::size_t i = 0;; ++i) {
    const std::string replica = text_of(info, "slave" + std::to_string(i));
    if (replica.empty()) return replication;
    const auto port = parse_integer<std::uint16_t>(part_of(replica, "port")).value_or(0);
    if (port != 0) replication.replicas.push_back({part_of(replica, "ip"), port});
  }
}

std::vector<Database> databases_of(const ServerInfo& info) {
  std::vector<Database> databases;
  for (const auto& [name, value] : info) {
    if (!name.starts_with("db")) continue;
    const auto number = parse_integer<std::int64_t>(name.substr(2));
    const auto keys = parse_integer<std::int64_t>(part_of(value, "keys"));
    if (number && keys && *keys > 0) databases.push_back({*number, *keys});
  }
  return databases;
}

}  // namespace rlock::lock
