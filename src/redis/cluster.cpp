#include "redis/cluster.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "redis/server_error.hpp"
#include "redis/survey.hpp"

namespace rlock::redis {
namespace {

// The pause before the next node is asked while earlier nodes have not answered.
constexpr Milliseconds k_next_node{100};

// The cluster as one node sees it.
struct View {
  std::unique_ptr<Connection> connection;
  SlotMap slots;
};

View connect_and_ask(const ConnectionOptions& options, const HostAndPort& node,
                     const Deadline& deadline) {
  View view{connect_node(options, node, deadline), {}};
  const Reply reply = view.connection->command({"CLUSTER", "SLOTS"}, deadline);
  if (reply.is_error()) {
    const std::string url = options.endpoint.of(node).display();
    if (!reply.text.starts_with("ERR This instance has cluster support disabled")) {
      throw ServerError(url, reply.text);
    }
    throw Error(ExitStatus::config,
                url + ": not a node of a cluster, but a single server: use redis://");
  }
  view.slots = SlotMap(reply, node);
  return view;
}

}  // namespace

HostAndPort Cluster::owner(int slot, const Deadline& deadline) {
  if (!is_known_) ask(deadline);
  // Who is asked about a slot that nobody owns answers CLUSTERDOWN.
  return slots_.owner(slot).value_or(asked_);
}

bool Cluster::is_owner(const HostAndPort& node, int slot, Milliseconds age,
                       const Deadline& deadline) {
  if (BootClock::now() >= after(asked_at_, age)) {
    ask(deadline, node);
    connection_.reset();
  }
  return owner(slot, deadline) == node;
}

std::vector<HostAndPort> Cluster::masters(const Deadline& deadline) {
  if (!is_known_) ask(deadline);
  return slots_.masters();
}

// Returns the nodes in the order in which to ask them. Another node is the first each time, because
// a node that is cut off or about to die knows less than the others. `beside` is left out, unless
// it is the only one.
std::vector<HostAndPort> Cluster::candidates(const HostAndPort& beside) {
  std::vector<HostAndPort> nodes = slots_.nodes();
  for (const HostAndPort& seed : options_.endpoint.seeds) {
    if (std::ranges::find(nodes, seed) == nodes.end()) nodes.push_back(seed);
  }
  if (nodes.size() > 1) std::erase(nodes, beside);
  const auto first = static_cast<std::ptrdiff_t>(rounds_++ % nodes.size());
  std::rotate(nodes.begin(), nodes.begin() + first, nodes.end());
  return nodes;
}

void Cluster::ask(const Deadline& deadline, const HostAndPort& beside) {
  const TimePoint now = BootClock::now();
  Survey<View> survey(std::bind_front(connect_and_ask, options_), deadline);
  std::exception_ptr refusal;
  std::string why = " " + in_time(deadline);
  const auto accept = [&](std::optional<Survey<View>::Result> result) {
    if (!result) return false;
    if (result->silence) why = ": " + *result->silence;
    if (result->refusal) refusal = result->refusal;
    if (!result->answer) return false;
    if (result->answer->slots.masters().empty()) {  // it has left the cluster, or has not joined
      const std::string url = options_.endpoint.of(result->server).display();
      refusal = std::make_exception_ptr(ServerError(url, "CLUSTERDOWN no node owns any slot"));
      return false;
    }
    slots_ = std::move(result->answer->slots);
    asked_ = result->server;
    connection_ = std::move(result->answer->connection);
    is_known_ = true;
    asked_at_ = now;
    return true;
  };
  for (const HostAndPort& node : candidates(beside)) {
    survey.ask(node);
    if (accept(survey.next(after(BootClock::now(), k_next_node)))) return;
  }
  while (survey.pending() > 0 && BootClock::now() < deadline.when) {
    if (accept(survey.next(deadline.when))) return;
  }
  if (refusal) std::rethrow_exception(refusal);
  throw Unavailable(options_.endpoint.display() + ": no node answers" + why);
}

std::unique_ptr<Connection> Cluster::take_connection(const HostAndPort& node) {
  auto connection = std::move(connection_);
  return node == asked_ ? std::move(connection) : nullptr;
}

}  // namespace rlock::redis
