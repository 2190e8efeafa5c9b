#include "lock/servers/session.hpp"

#include <algorithm>

#include "lock/servers/ballot.hpp"
#include "redis/likeness.hpp"

namespace rlock::lock {
namespace {

constexpr Milliseconds k_shortest_timeout{50};
constexpr Milliseconds k_settling{500};

}  // namespace

void SessionOptions::shorten_timeout(Milliseconds length, const char* from) {
  if (servers.size() < 2) return;
  const Milliseconds most = std::max(length / 10, k_shortest_timeout);
  if (most >= client.timeout) return;
  client.timeout = most;
  client.timeout_from = from;
}

Session::Session(const SessionOptions& options)
    : client_(options.client), unreachable_(options.unreachable) {
  for (auto at = options.servers.begin(); at != options.servers.end(); ++at) {
    const redis::Endpoint& endpoint = *at;
    display_ += (display_.empty() ? "" : " ") + endpoint.display();
    if (options.servers.size() < 2) break;
    may_have_duplicates_ =
        may_have_duplicates_ || std::any_of(options.servers.begin(), at, [&](const auto& other) {
          return redis::compare(endpoint, other) != redis::Likeness::different;
        });
    unreachable_->set_name(nodes_.size(), endpoint.display());
    redis::ClientOptions client = options.client;
    client.endpoint = endpoint;
    nodes_.push_back(std::make_unique<Node>(std::move(client)));
  }
}

void Session::refuse_twins() const {
  if (const auto twins = unreachable_->twins()) {
    throw Error(ExitStatus::usage, *twins + " (" + display_ + "): name each server once (-r)");
  }
}

void Session::settle() {
  Ballot<bool> ballot(*this, [](std::size_t /*server*/, redis::Client& /*client*/) {
    return true;  // after the jobs before it
  });
  ballot.wait({after(BootClock::now(), k_settling)}, k_for_all);
}

Session::~Session() {
  for (const auto& node : nodes_) node->stop();  // first all: each may take a moment to end
}

}  // namespace rlock::lock
