// A throw-away master with replicas, and sentinels that watch them.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "server.hpp"

namespace rlock::test {

struct SentinelOptions {
  int replicas = 1;
  int sentinels = 3;
  std::vector<std::string> server_args{};  // of master and replicas
  std::vector<std::string> first_args{};   // more of the first server
  std::vector<std::string> sentinel_args{};
  std::string sentinel_config{};  // more lines, which follow those that name the master
  int down_after_ms = 2000;       // when they call a silent server dead
};

// A sentinel by itself, which was told that a failover, the `epoch`-th, has made `server` the
// master. It calls nobody dead. `host`: under which it knows the server.
[[nodiscard]] std::unique_ptr<Server> lone_sentinel(const Server& server, int epoch,
                                                    const std::string& host = "127.0.0.1");

// Tells a sentinel that watches `old`, as another sentinel would, that the `epoch`-th failover has
// made `fresh` the master. Returns whether it names that server then.
[[nodiscard]] bool tell_of_failover(const Server& sentinel, const Server& old, const Server& fresh,
                                    int epoch);

// Two of the sentinels agree on a failover.
class Sentinels {
 public:
  static constexpr const char* k_master = "mymaster";

  // Waits until the replicas are in step and the sentinels know them and one another. Throws
  // std::runtime_error when that does not come about (30 s).
  explicit Sentinels(const SentinelOptions& options = {});

  // redis-sentinel://... of all sentinels.
  [[nodiscard]] std::string url() const;
  // The same with other sentinels, given by their ports, and another master.
  [[nodiscard]] static std::string url_of(const std::vector<std::uint16_t>& ports,
                                          const std::string& master = k_master);

  [[nodiscard]] Server& sentinel(std::size_t i) { return *sentinels_.at(i); }
  // The first is the master that there is at the start.
  [[nodiscard]] Server& server(std::size_t i) { return *servers_.at(i); }

  // The server that the first sentinel that runs calls the master.
  [[nodiscard]] Server& master();
  // Waits until all sentinels that run call this server the master. False after 30 s.
  [[nodiscard]] bool wait_for_master(const Server& server);

 private:
  [[nodiscard]] bool is_settled();

  std::deque<std::unique_ptr<Server>> servers_;
  std::deque<std::unique_ptr<Server>> sentinels_;
};

}  // namespace rlock::test
