// Which node of a cluster keeps which keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "redis/reply.hpp"
#include "redis/url.hpp"

namespace rlock::redis {

inline constexpr int k_slots = 16384;

// Returns the slot of a key or channel, 0 to 16383. If the key has a hash tag, the tag decides.
[[nodiscard]] int slot_of(std::string_view key) noexcept;

// The slot and the node that an answer MOVED or ASK names.
struct Redirect {
  int slot = 0;
  HostAndPort node;
};

// Reads "MOVED 3999 10.0.0.1:6381". A missing host is that of `asked`. Throws ProtocolError.
[[nodiscard]] Redirect parse_redirect(std::string_view text, const HostAndPort& asked);

class SlotMap {
 public:
  // Makes an empty map.
  SlotMap() = default;
  // From the answer to CLUSTER SLOTS by `asked`. Throws ProtocolError.
  SlotMap(const Reply& slots, const HostAndPort& asked);

  void move(int slot, const HostAndPort& to);

  // Returns the slot's master, or nothing if it has none.
  [[nodiscard]] std::optional<HostAndPort> owner(int slot) const;
  // Returns all nodes: the masters that own slots, and their replicas.
  [[nodiscard]] const std::vector<HostAndPort>& nodes() const noexcept { return nodes_; }
  // Returns the masters that own slots.
  [[nodiscard]] std::vector<HostAndPort> masters() const;

 private:
  std::uint16_t add(const HostAndPort& node);

  std::vector<HostAndPort> nodes_;
  std::vector<std::uint16_t> owners_;  // 1 + the index in nodes_ for each slot; 0: nobody
};

}  // namespace rlock::redis
