#include "lock/inspection/listening_clients.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/integer.hpp"
#include "base/words.hpp"

namespace rlock::lock {
namespace {

// Returns the client that a line of CLIENT LIST describes, or nothing if it is not of rlock.
std::optional<ListeningClient> parse(std::string_view line) {
  constexpr std::string_view k_start = "name=rlock:";
  std::size_t start = line.find(k_start);
  // Not of lib-name.
  if (start == std::string_view::npos || start == 0 || line[start - 1] != ' ') return std::nullopt;
  start += k_start.size();
  const std::string_view name = line.substr(start, line.find(' ', start) - start);
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto pid = parse_integer<pid_t>(name.substr(colon + 1));
  if (!pid) return std::nullopt;
  return ListeningClient{std::string(name.substr(0, colon)), *pid};
}

}  // namespace

std::optional<std::vector<ListeningClient>> listening_clients(redis::Client& client,
                                                              const std::string& name) {
  const redis::Reply reply = client.command({"CLIENT", "LIST", "TYPE", "pubsub"}, name);
  if (reply.is_error()) return std::nullopt;
  std::vector<ListeningClient> clients;
  for (const std::string_view line : split(reply.as_text(), '\n')) {
    if (auto found = parse(line)) clients.push_back(std::move(*found));
  }
  const auto key = [](const ListeningClient& one) { return std::tie(one.host, one.pid); };
  std::ranges::sort(clients, {}, key);
  const auto is_same = [&](const auto& one, const auto& other) { return key(one) == key(other); };
  clients.erase(std::unique(clients.begin(), clients.end(), is_same), clients.end());
  return clients;
}

}  // namespace rlock::lock
