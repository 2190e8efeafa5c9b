#include "redis/subscription.hpp"

#include <cerrno>
#include <map>
#include <poll.h>
#include <strings.h>
#include <sys/epoll.h>
#include <utility>

#include "base/escape.hpp"
#include "base/glob.hpp"
#include "redis/sentinel.hpp"
#include "redis/server_error.hpp"

namespace rlock::redis {
namespace {

// Anybody can publish on a lock's channel. A longer string is neither the name of a channel, which
// has little more than the name of a lock, nor a message of any lock.
constexpr std::size_t k_longest_string = 4096;
// How often one call may read from a connection (64 KiB each time).
constexpr int k_most_reads = 4;
// How many messages may wait for the next `drain`.
constexpr std::size_t k_most_early = 1000;

}  // namespace

Subscription::Subscription(const ClientOptions& options, const std::vector<std::string>& channels)
    : options_(options) {
  const Deadline deadline = options.deadline();
  if (options.endpoint.transport == Endpoint::Transport::cluster) {
    listen_in_shards(channels, deadline);
    return;
  }
  if (options.endpoint.transport == Endpoint::Transport::sentinel) {
    connections_.push_back(connect_master(options, deadline).connection);
  } else {
    connections_.push_back(std::make_unique<Connection>(options, deadline));
  }
  const auto error = subscribe(*connections_[0], "SUBSCRIBE", channels);
  if (error) throw ServerError(options.endpoint.display(), *error);
}

void Subscription::listen_in_shards(const std::vector<std::string>& channels,
                                    const Deadline& deadline) {
  Cluster cluster(options_);
  std::map<std::string, std::pair<HostAndPort, std::map<int, std::vector<std::string>>>> owners;
  for (const std::string& channel : channels) {
    const int slot = slot_of(channel);
    const HostAndPort owner = cluster.owner(slot, deadline);
    auto& [node, slots] = owners[owner.display()];
    node = owner;
    slots[slot].push_back(channel);
  }
  all_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!all_.valid()) throw Unavailable("epoll: " + errno_text(errno));
  for (const auto& [name, owned] : owners) {
    auto connection = cluster.take_connection(owned.first);
    if (!connection) connection = connect_node(options_, owned.first, deadline);
    for (const auto& [slot, some] : owned.second) {
      // Before Redis 7 there are no shards, and a user may lack the right. Then only messages for
      // all nodes arrive.
      const auto moved = subscribe(*connection, "SSUBSCRIBE", some);
      if (moved && ConnectionPool::is_about_slot(*moved))
        throw Unavailable(name + ": the slot of a channel is being moved (" +
                          escape_for_terminal(*moved) + ")");
      const auto error = subscribe(*connection, "SUBSCRIBE", some);
      if (error) throw ServerError(options_.endpoint.of(owned.first).display(), *error);
    }
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(all_.get(), EPOLL_CTL_ADD, connection->fd(), &event) != 0) {
      throw Unavailable("epoll: " + errno_text(errno));
    }
    connections_.push_back(std::move(connection));
  }
}

bool Subscription::add(const std::vector<std::string>& channels) {
  return !subscribe(*connections_[0], "SUBSCRIBE", channels);
}

bool Subscription::overhear(const std::string& channel) {
  const std::string pattern = literal_glob(channel);
  if (pattern == overheard_) return true;
  Connection& connection = *connections_[0];
  if (!overheard_.empty()) {
    const std::string old = std::exchange(overheard_, "");
    if (subscribe(connection, "PUNSUBSCRIBE", {old})) return false;
  }
  if (pattern.empty()) return true;
  if (subscribe(connection, "PSUBSCRIBE", {pattern})) return false;
  overheard_ = pattern;
  return true;
}

int Subscription::fd() const noexcept { return all_.valid() ? all_.get() : connections_[0]->fd(); }

// Adds the message that `reply` is to `messages`, unless it is too long. Returns false if `reply`
// is something else.
bool Subscription::add_message(const Reply& reply, std::vector<Message>& messages) const {
  const auto& items = reply.as_array(3);
  const std::string& what = items[0].as_text();
  if (what == "sunsubscribe") {
    throw Unavailable(options_.endpoint.display() + ": the slot of a channel has moved");
  }
  if (what != "message" && what != "smessage" && what != "pmessage") return false;
  const std::size_t at = what == "pmessage" ? 2 : 1;
  const auto text = reply.as_array(at + 2)[at + 1].as_optional_text();
  if (text) messages.push_back({items[at].as_text(), *text});
  return true;
}

// Sends `command` for several channels. Returns the server's error if it refuses.
std::optional<std::string> Subscription::subscribe(Connection& connection, const char* command,
                                                   const std::vector<std::string>& channels) {
  const Deadline deadline = options_.deadline();
  connection.skip_longer(k_longest_string);
  Args request = {command};
  request.insert(request.end(), channels.begin(), channels.end());
  Reply reply = connection.command(request, deadline);
  std::size_t confirmed = 0;
  while (!reply.is_error()) {
    if (early_.size() >= k_most_early) early_.clear();  // messages are hints
    if (add_message(reply, early_)) {
      // `drain` returns it
    } else if (::strcasecmp(reply.items[0].as_text().c_str(), command) != 0) {
      throw ProtocolError("no confirmation of a subscription");
    } else if (++confirmed == channels.size()) {
      return std::nullopt;
    }
    reply = receive(connection, deadline);
  }
  return reply.text;
}

Reply Subscription::receive(Connection& connection, const Deadline& deadline) {
  while (true) {
    int reads = k_most_reads;
    if (auto reply = connection.try_receive(reads)) return std::move(*reply);
    if (!wait_for(connection.fd(), POLLIN, deadline)) {
      throw Unavailable("no answer from redis at " + options_.endpoint.display() + " " +
                        in_time(deadline));
    }
  }
}

std::vector<Message> Subscription::drain() {
  std::vector<Message> messages = std::exchange(early_, {});
  for (const auto& connection : connections_) {
    int reads = k_most_reads;
    while (const auto reply = connection->try_receive(reads)) {
      (void)add_message(*reply, messages);
    }
  }
  return messages;
}

}  // namespace rlock::redis
