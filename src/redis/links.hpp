// The connections of a client: one, or one to each node of a cluster that it has dealt with.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redis/cluster.hpp"
#include "redis/connection.hpp"

namespace rlock::redis {

class Links {
 public:
  explicit Links(NodeOptions options);

  // Returns a connection to where requests about `slot` go now, after opening it if need be; until
  // the next call it is the last. One that is left out of step by the request before is closed, but
  // only when there is another: a server that hangs lets nobody log in, but will read what is sent
  // behind that request.
  // Throws as Connection, connect_master, Cluster::owner.
  Connection& open(int slot, const Patience& patience);

  // Returns whether the next request must be introduced by ASKING: its slot is being moved to the
  // node of the last connection.
  [[nodiscard]] bool is_asking() const noexcept { return is_asking_; }

  // A request is being sent on the last connection, or all of it was answered.
  void begin() noexcept { is_out_of_step_ = true; }
  void end() noexcept { is_out_of_step_ = false; }
  [[nodiscard]] bool is_out_of_step() const noexcept { return is_out_of_step_; }

  // Returns whether the last request, which got this error, was not carried out and may be made
  // again: `open` knows where. Throws ProtocolError.
  [[nodiscard]] bool is_turned_away(const std::string& error);
  // Returns whether that is because the request belongs elsewhere, so that there is nothing to wait
  // for.
  [[nodiscard]] bool is_redirected() const noexcept { return is_redirected_; }
  // Returns whether an error of a cluster's node says that it does not keep the slot, or not now.
  [[nodiscard]] static bool is_about_slot(const std::string& error);

  // The last connection, or an attempt to open one, broke: closes it.
  void break_last() noexcept;
  // Closes all.
  void close() noexcept;

  // Returns the last connection, or null. It may be good for `send` only.
  [[nodiscard]] Connection* last() noexcept { return last_ ? last_->connection.get() : nullptr; }
  // Returns the URL of the server of the last connection, or of the whole.
  [[nodiscard]] std::string display() const;

  // Returns whether a server has been reached at some time.
  [[nodiscard]] bool has_been_there() const noexcept { return has_been_there_; }
  [[nodiscard]] bool is_cluster() const noexcept { return cluster_.has_value(); }

  // With sentinels: asks them for failovers, unless they were asked within `age`. Returns whether
  // the last connection is one to the master of now, as far as they know; otherwise `open` opens
  // another. Throws as hear_of_failovers.
  bool confirm_master(Milliseconds age, const Patience& patience);

  // Returns what tells apart where requests about a slot go; empty where there is no cluster.
  // Throws as `open`.
  [[nodiscard]] std::string owner(int slot, const Patience& patience);
  // Returns where the servers are that keep data now: all masters. Throws as `open`.
  [[nodiscard]] std::vector<Endpoint> masters(const Patience& patience);

 private:
  struct Link {
    HostAndPort node;  // empty where there is no cluster
    std::unique_ptr<Connection> connection;
    std::int64_t epoch = 0;  // of the failover that made it the master; where there are sentinels
  };

  void connect(Link& link, const Patience& patience);
  [[nodiscard]] bool is_of_old(const Link& link) const;
  Connection& use(Link* link) noexcept;
  void drop_last() noexcept;

  NodeOptions options_;
  std::optional<Cluster> cluster_;
  std::vector<std::unique_ptr<Link>> links_;
  Link* last_ = nullptr;
  TimePoint sentinels_asked_;
  std::optional<HostAndPort> asking_at_;  // where to go with the next request, once
  bool is_asking_ = false;
  bool is_redirected_ = false;
  bool is_out_of_step_ = false;  // a reply is outstanding on the last connection
  bool has_been_there_ = false;
};

}  // namespace rlock::redis
