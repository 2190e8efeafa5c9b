#include "redis/slots.hpp"

#include <algorithm>
#include <string>

#include "base/integer.hpp"

namespace rlock::redis {
namespace {

// CRC-16/XMODEM.
std::uint16_t crc16(std::string_view text) noexcept {
  unsigned crc = 0;
  for (const char c : text) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    }
  }
  return static_cast<std::uint16_t>(crc);
}

// Returns the number that is all of `text`, from `least` to `most`.
int parse_number(std::string_view text, int least, int most) {
  const auto number = parse_integer<int>(text);
  if (!number || *number < least || *number > most) {
    throw ProtocolError("no slot or port of a cluster");
  }
  return *number;
}

int as_slot(const Reply& reply) {
  const std::int64_t slot = reply.as_integer();
  if (slot < 0 || slot >= k_slots) throw ProtocolError("no slot of a cluster");
  return static_cast<int>(slot);
}

// Some nodes do not know under which name others reach them.
HostAndPort with_host(std::string host, int port, const HostAndPort& asked) {
  if (host.empty() || host == "?") host = asked.host;
  return {std::move(host), static_cast<std::uint16_t>(port)};
}

HostAndPort as_node(const Reply& reply, const HostAndPort& asked) {
  const auto& parts = reply.as_array(2);
  const std::int64_t port = parts[1].as_integer();
  if (port < 1 || port > 65535) throw ProtocolError("no port of a cluster's node");
  return with_host(parts[0].as_optional_text().value_or(""), static_cast<int>(port), asked);
}

}  // namespace

int slot_of(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return crc16(key) % k_slots;
}

Redirect parse_redirect(std::string_view text, const HostAndPort& asked) {
  const std::size_t first = text.find(' ');
  const std::size_t second = text.find(' ', first + 1);
  // An IPv6 address has colons, too.
  const std::size_t colon = text.rfind(':');
  if (first == std::string_view::npos || second == std::string_view::npos ||
      colon == std::string_view::npos || colon < second) {
    throw ProtocolError("a redirection to nowhere");
  }
  return {parse_number(text.substr(first + 1, second - first - 1), 0, k_slots - 1),
          with_host(std::string(text.substr(second + 1, colon - second - 1)),
                    parse_number(text.substr(colon + 1), 1, 65535), asked)};
}

SlotMap::SlotMap(const Reply& slots, const HostAndPort& asked) : owners_(k_slots, 0) {
  for (const Reply& range : slots.as_array()) {
    const auto& items = range.as_array(3);
    const int first = as_slot(items[0]);
    const int last = as_slot(items[1]);
    const std::uint16_t owner = add(as_node(items[2], asked));
    for (int slot = first; slot <= last; ++slot) owners_[static_cast<std::size_t>(slot)] = owner;
    for (std::size_t i = 3; i < items.size(); ++i) add(as_node(items[i], asked));
  }
}

std::uint16_t SlotMap::add(const HostAndPort& node) {
  const auto found = std::ranges::find(nodes_, node);
  const auto index = found - nodes_.begin();
  if (found == nodes_.end()) nodes_.push_back(node);
  return static_cast<std::uint16_t>(index + 1);
}

void SlotMap::move(int slot, const HostAndPort& to) {
  owners_.resize(k_slots, 0);
  owners_[static_cast<std::size_t>(slot)] = add(to);
}

std::optional<HostAndPort> SlotMap::owner(int slot) const {
  const std::uint16_t owner = owners_.empty() ? 0 : owners_[static_cast<std::size_t>(slot)];
  if (owner == 0) return std::nullopt;
  return nodes_[owner - 1U];
}

std::vector<HostAndPort> SlotMap::masters() const {
  std::vector<HostAndPort> masters;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto owner = static_cast<std::uint16_t>(i + 1);
    if (std::ranges::find(owners_, owner) != owners_.end()) masters.push_back(nodes_[i]);
  }
  return masters;
}

}  // namespace rlock::redis
