// What a server tells of itself by INFO.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace rlock::lock {

using ServerInfo = std::map<std::string, std::string>;

// Returns the fields of a reply to INFO.
[[nodiscard]] ServerInfo parse_info(const std::string& text);

// Where a server has its data from, and where it sends them.
struct Replication {
  struct Address {
    std::string host;
    std::uint16_t port = 0;
  };
  std::optional<Address> master;  // nothing: the server is a master itself
  bool is_linked = true;          // whether the connection to its master is up
  // Of a replica: how long ago it last heard from its master. At least that, without a connection.
  // Nothing: not known.
  std::optional<Milliseconds> age;
  std::vector<Address> replicas;  // that have a connection to this server

  // Returns whether the server is a replica that no longer hears from its master. Locks that seem
  // to have ended there may have been renewed.
  [[nodiscard]] bool is_stale() const;

  // Returns how late a write may come to a server that is not stale: zero at a master.
  [[nodiscard]] Milliseconds longest_delay() const;
};

// Returns nothing if `info` does not say it.
[[nodiscard]] std::optional<Replication> replication_of(const ServerInfo& info);

struct Database {
  std::int64_t number = 0;
  std::int64_t keys = 0;
};

// Returns the databases that have keys. `info`: has the section Keyspace.
[[nodiscard]] std::vector<Database> databases_of(const ServerInfo& info);

}  // namespace rlock::lock
