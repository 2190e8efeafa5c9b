#include "redis/connection_pool.hpp"

#include <algorithm>
#include <utility>

#include "redis/local_server.hpp"
#include "redis/server_error.hpp"

namespace rlock::redis {
namespace {

bool is_one_of(const std::string& error, std::initializer_list<const char*> codes) {
  return std::ranges::any_of(codes, [&](const char* code) { return is_error(error, code); });
}

}  // namespace

ConnectionPool::ConnectionPool(ConnectionOptions options) : options_(std::move(options)) {
  if (options_.endpoint.transport == Endpoint::Transport::cluster) cluster_.emplace(options_);
}

void ConnectionPool::connect(Link& link, const Deadline& deadline) {
  if (cluster_) {
    link.connection = cluster_->take_connection(link.node);
    if (link.connection) return;
    // A node that is dead, hangs or is cut off must leave time to ask for another.
    const Deadline half = half_of(deadline);
    link.connection = connect_node(options_, link.node, half);
    [[maybe_unused]] const Reply any = link.connection->command({"PING"}, half);
  } else if (options_.endpoint.transport == Endpoint::Transport::sentinel) {
    sentinels_asked_ = BootClock::now();
    silence_ = nullptr;
    Master master = connect_master(options_, deadline);
    link.connection = std::move(master.connection);
    link.master = std::move(master.address);
  } else {
    link.connection = std::make_unique<Connection>(options_, deadline);
    if (options_.endpoint.transport == Endpoint::Transport::local) {
      link.socket = socket_identity(options_.endpoint.path);
    }
  }
}

// A new server would grant what the server of this connection has granted.
bool ConnectionPool::is_abandoned(const Link& link) const {
  return options_.endpoint.transport == Endpoint::Transport::local &&
         (link.socket.empty() || link.socket != socket_identity(options_.endpoint.path));
}

bool ConnectionPool::is_of_old(const Link& link) const {
  return options_.endpoint.transport == Endpoint::Transport::sentinel &&
         is_outdated(options_.endpoint, link.master);
}

bool ConnectionPool::confirm_master(int slot, Milliseconds age, const Deadline& deadline) {
  if (last_ == nullptr) return true;
  // It will be the master if the present one has just sent the request there.
  if (cluster_) return is_asking_ || cluster_->is_owner(last_->node, slot, age, deadline);
  if (options_.endpoint.transport != Endpoint::Transport::sentinel) return true;
  if (BootClock::now() >= after(sentinels_asked_, age)) {
    const TimePoint now = BootClock::now();
    silence_ = nullptr;
    try {
      hear_of_failovers(options_, deadline);
      sentinels_asked_ = now;
    } catch (const Unavailable&) {
      sentinels_asked_ = BootClock::now();
      silence_ = std::current_exception();
    }
  }
  if (silence_) std::rethrow_exception(silence_);
  return !is_of_old(*last_);
}

Connection& ConnectionPool::open(int slot, const Deadline& deadline) {
  const auto asking_at = std::exchange(asking_at_, std::nullopt);
  is_asking_ = asking_at.has_value();
  is_redirected_ = false;
  // A node that has left a request without an answer may be dying.
  if (cluster_ && is_out_of_step_) cluster_->doubt();
  HostAndPort node;
  if (cluster_) {
    node = asking_at ? *asking_at : cluster_->owner(slot, deadline);
    has_been_there_ = true;
  }
  const auto found = std::ranges::find_if(pool_, [&](const auto& link) {
    return link->node == node && !(is_out_of_step_ && link.get() == last_);
  });
  if (found != pool_.end()) {
    if (is_abandoned(**found)) {
      set_aside(found);
    } else if (is_of_old(**found)) {
      drop_last();  // the only one
    } else {
      return use(found->get());
    }
  }
  auto link = std::make_unique<Link>(Link{node, nullptr, {}});
  try {
    connect(*link, deadline);
  } catch (const Unavailable&) {
    if (cluster_) cluster_->doubt();
    throw;
  }
  has_been_there_ = true;
  abandoned_.reset();
  ++opened_;
  return use(pool_.emplace_back(std::move(link)).get());
}

// Keeps the connection open, though unused: as long as there is one, no other server is started in
// the place of this one, whose locks this process may hold.
void ConnectionPool::set_aside(std::vector<std::unique_ptr<Link>>::iterator link) {
  abandoned_ = std::move(*link);
  pool_.erase(link);
  last_ = nullptr;
  is_out_of_step_ = false;
}

// Makes `link` the last connection. Closes the previous one if it is out of step.
Connection& ConnectionPool::use(Link* link) noexcept {
  if (is_out_of_step_) drop_last();
  last_ = link;
  return *link->connection;
}

bool ConnectionPool::is_about_slot(const std::string& error) {
  // The last one: a script looked for a key that has moved, which it need not have declared.
  return error.starts_with("MOVED ") || error.starts_with("ASK ") ||
         is_one_of(error, {"TRYAGAIN", "CLUSTERDOWN"}) ||
         error.find("a non local key in a cluster node") != std::string::npos;
}

bool ConnectionPool::is_turned_away(const std::string& error) {
  const bool is_moved = error.starts_with("MOVED ");
  if (cluster_ && (is_moved || error.starts_with("ASK "))) {
    const Redirect redirect = parse_redirect(error, last_ == nullptr ? HostAndPort{} : last_->node);
    if (is_moved) {
      cluster_->learn(redirect);
    } else {
      asking_at_ = redirect.node;
    }
    is_redirected_ = true;
    return true;
  }
  if (cluster_ && is_about_slot(error)) {
    if (is_error(error, "CLUSTERDOWN")) cluster_->doubt();
    return true;
  }
  // The master may be elsewhere now, so look its address up again. A private server has no other
  // address: it is still reading its log of changes.
  if (is_one_of(error, {"READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS", "MISCONF"})) {
    if (options_.endpoint.transport != Endpoint::Transport::local) drop_broken();
    return true;
  }
  return is_error(error, "BUSY");  // until the script of another client ends, or is killed
}

void ConnectionPool::drop_broken() noexcept {
  if (cluster_) cluster_->doubt();
  drop_last();
}

void ConnectionPool::drop_last() noexcept {
  is_out_of_step_ = false;
  const Link* broken = std::exchange(last_, nullptr);
  const auto found =
      std::ranges::find_if(pool_, [&](const auto& link) { return link.get() == broken; });
  if (found == pool_.end()) return;
  // A copy of a request must not arrive when it has long been sent again elsewhere.
  if ((*found)->connection) (*found)->connection->abort();
  pool_.erase(found);
}

void ConnectionPool::close() noexcept {
  pool_.clear();
  abandoned_.reset();
  last_ = nullptr;
  is_out_of_step_ = false;
  if (cluster_) cluster_->doubt();
}

std::string ConnectionPool::display() const {
  if (last_ != nullptr && cluster_) return options_.endpoint.of(last_->node).display();
  return options_.endpoint.display();
}

std::string ConnectionPool::owner(int slot, const Deadline& deadline) {
  return cluster_ ? cluster_->owner(slot, deadline).display() : "";
}

std::vector<Endpoint> ConnectionPool::masters(const Deadline& deadline) {
  const Endpoint& whole = options_.endpoint;
  if (whole.transport == Endpoint::Transport::sentinel) {
    return {whole.of(connect_master(options_, deadline).address.node)};
  }
  if (!cluster_) return {whole};
  std::vector<Endpoint> masters;
  for (const HostAndPort& node : cluster_->masters(deadline)) masters.push_back(whole.of(node));
  return masters;
}

}  // namespace rlock::redis
