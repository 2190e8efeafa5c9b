// The connections of a client: one connection, or one to each node of a cluster that it has used.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redis/cluster.hpp"
#include "redis/sentinel.hpp"

namespace rlock::redis {

class ConnectionPool {
 public:
  explicit ConnectionPool(ConnectionOptions options);

  // Returns a connection to the server of `slot`, and opens it if there is none. Until the next
  // call, it is the last connection. If the previous request got no reply, its connection is
  // closed, but only after the new connection is open. A server that hangs accepts no new
  // connection, but it will read what is sent after that request. Throws as Connection,
  // connect_master, Cluster::owner.
  Connection& open(int slot, const Deadline& deadline);

  // Returns whether ASKING must precede the next request: its slot is being moved there.
  [[nodiscard]] bool is_asking() const noexcept { return is_asking_; }

  // Call `begin` before a request is sent on the last connection, and `end` after its last reply.
  void begin() noexcept { is_out_of_step_ = true; }
  void end() noexcept { is_out_of_step_ = false; }
  [[nodiscard]] bool reply_pending() const noexcept { return is_out_of_step_; }

  // Returns whether the last request, which got this error, was not carried out and may be sent
  // again. `open` then returns the right connection: to another node, or to the server to which the
  // address leads now. Throws ProtocolError.
  [[nodiscard]] bool is_turned_away(const std::string& error);
  // Returns whether the error named another node. The request can then be sent again at once.
  [[nodiscard]] bool is_redirected() const noexcept { return is_redirected_; }
  // Returns whether the error of a node says that it does not keep the slot now.
  [[nodiscard]] static bool is_about_slot(const std::string& error);

  // Closes the last connection. Call it when the connection, or an attempt to open one, broke.
  void drop_broken() noexcept;
  // Closes all connections.
  void close() noexcept;

  // Returns the last connection, or null. While it is out of step, only `send` may be called on it.
  [[nodiscard]] Connection* last() noexcept { return last_ ? last_->connection.get() : nullptr; }
  // Returns the URL of the last node of a cluster, or the URL that the user gave.
  [[nodiscard]] std::string display() const;

  // Returns whether a server has been reached at least once.
  [[nodiscard]] bool has_been_there() const noexcept { return has_been_there_; }
  [[nodiscard]] bool is_cluster() const noexcept { return cluster_.has_value(); }
  // Returns how many connections were opened so far.
  [[nodiscard]] int opened() const noexcept { return opened_; }

  // Returns whether the last connection is to the present master of a slot, as far as the
  // sentinels, or another node of the cluster, know. Asks them unless they were asked within `age`.
  // If they did not answer then, throws that again. If it is not, `open` connects to the new
  // master. Returns true for a single server. Throws as hear_of_failovers, Cluster::owner.
  bool confirm_master(int slot, Milliseconds age, const Deadline& deadline);

  // Returns the owner of a slot, to be compared; empty without a cluster. Throws as `open`.
  [[nodiscard]] std::string owner(int slot, const Deadline& deadline);
  // Returns the servers that keep data now: all masters. Throws as `open`.
  [[nodiscard]] std::vector<Endpoint> masters(const Deadline& deadline);

 private:
  struct Link {
    HostAndPort node;  // empty if there is no cluster
    std::unique_ptr<Connection> connection;
    MasterAddress master;  // as sentinels named it
    std::string socket{};  // of local: its identity
  };

  void connect(Link& link, const Deadline& deadline);
  [[nodiscard]] bool is_of_old(const Link& link) const;
  [[nodiscard]] bool is_abandoned(const Link& link) const;
  void set_aside(std::vector<std::unique_ptr<Link>>::iterator link);
  Connection& use(Link* link) noexcept;
  void drop_last() noexcept;

  ConnectionOptions options_;
  std::optional<Cluster> cluster_;
  std::vector<std::unique_ptr<Link>> pool_;
  std::unique_ptr<Link> abandoned_;  // to a server of local: that others do not use any more
  Link* last_ = nullptr;
  TimePoint sentinels_asked_;
  std::exception_ptr silence_;            // of the sentinels, when they were asked last
  std::optional<HostAndPort> asking_at_;  // where to send the next request, once
  bool is_asking_ = false;
  bool is_redirected_ = false;
  bool is_out_of_step_ = false;  // a reply is outstanding on the last connection
  bool has_been_there_ = false;
  int opened_ = 0;
};

}  // namespace rlock::redis
