#include "redis/sentinel.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "base/integer.hpp"
#include "redis/server_error.hpp"
#include "redis/survey.hpp"

namespace rlock::redis {
namespace {

// How long the other sentinels have after the first that knows the master.
constexpr Milliseconds k_for_the_others{100};
constexpr Milliseconds k_pause_between_rounds{100};

// What one sentinel says.
struct Opinion {
  std::optional<HostAndPort> master;  // nothing: it does not know the name
  std::int64_t epoch = 0;             // grows with each failover
};

Opinion ask_as(const NodeOptions& options, const HostAndPort& sentinel, const Patience& patience) {
  NodeOptions sentinels = options;
  sentinels.endpoint.database = 0;
  const auto connection = connect_node(sentinels, sentinel, patience);
  const std::string& name = options.endpoint.master;
  const Reply address =
      connection->command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name}, patience);
  const std::string url = node_endpoint(sentinels.endpoint, sentinel).display();
  if (address.type == Reply::Type::error) {
    if (!address.text.starts_with("ERR unknown command")) throw ServerError(url, address.text);
    throw Error(ExitStatus::config, url + ": is no sentinel, but a server (redis://)");
  }
  Opinion opinion;
  if (address.is_nil()) return opinion;
  const auto& parts = address.as_array(2);
  const auto port = to_integer(parts[1].as_text(), 0);
  if (port < 1 || port > 65535) throw ProtocolError("a master without a port");
  opinion.master = HostAndPort{parts[0].as_text(), static_cast<std::uint16_t>(port)};
  const Reply details = connection->command({"SENTINEL", "MASTER", name}, patience);
  if (details.type != Reply::Type::array) return opinion;
  for (std::size_t i = 0; i + 1 < details.items.size(); i += 2) {
    if (details.items[i].text != "config-epoch") continue;
    opinion.epoch = to_integer(details.items[i + 1].text, 0);
  }
  return opinion;
}

// A sentinel need not have the servers' users: it gets a password only if it asks for one.
Opinion ask(const NodeOptions& options, const HostAndPort& sentinel, const Patience& patience) {
  NodeOptions anonymous = options;
  anonymous.endpoint.credentials = {};
  try {
    return ask_as(anonymous, sentinel, patience);
  } catch (const ServerError& error) {
    if (error.code() != "NOAUTH" || options.endpoint.credentials.password.empty()) throw;
  }
  return ask_as(options, sentinel, patience);
}

// One that was cut off may tell of a master of old.
std::vector<HostAndPort> masters_of(std::vector<Opinion> opinions) {
  std::stable_sort(opinions.begin(), opinions.end(),
                   [](const Opinion& a, const Opinion& b) { return a.epoch > b.epoch; });
  std::vector<HostAndPort> masters;
  for (const Opinion& opinion : opinions) {
    if (std::find(masters.begin(), masters.end(), *opinion.master) == masters.end()) {
      masters.push_back(*opinion.master);
    }
  }
  return masters;
}

[[noreturn]] void throw_silence(const std::exception_ptr& failure, const std::string& whole) {
  try {
    std::rethrow_exception(failure);
  } catch (const Unavailable& error) {
    throw Unavailable(whole + ": no sentinel answers: " + error.what());
  }
}

// True for the answer of a server that takes no writes, for now at least.
bool is_replica(const Reply& role) {
  return role.type == Reply::Type::array && role.as_array(1)[0].as_text() != "master";
}

// Returns where the sentinels say the master is: what those say first who have seen more failovers.
std::vector<HostAndPort> find_masters(const NodeOptions& options, const Patience& patience) {
  Survey<Opinion> survey([options](const HostAndPort& sentinel,
                                   const Patience& until) { return ask(options, sentinel, until); },
                         patience);
  for (const HostAndPort& sentinel : options.endpoint.seeds) survey.ask(sentinel);
  std::vector<Opinion> opinions;
  bool is_unknown = false;
  std::vector<std::exception_ptr> silent;
  std::vector<std::exception_ptr> refusals;
  TimePoint until = patience.deadline;
  while (auto result = survey.next(until)) {
    if (result->failure) {
      try {
        std::rethrow_exception(result->failure);
      } catch (const Unavailable&) {
        silent.push_back(result->failure);
      } catch (...) {
        refusals.push_back(result->failure);
      }
    } else if (!result->answer->master) {
      is_unknown = true;
    } else {
      opinions.push_back(*result->answer);
      until = std::min(until, after(BootClock::now(), k_for_the_others));
    }
  }
  if (!opinions.empty()) return masters_of(std::move(opinions));
  const std::string whole = options.endpoint.display();
  const bool all_answered = silent.empty() && survey.pending() == 0;
  if (is_unknown) {
    const std::string why =
        "no sentinel knows a master called " + escape_for_terminal(options.endpoint.master);
    if (all_answered && refusals.empty()) throw Error(ExitStatus::config, whole + ": " + why);
    if (all_answered) std::rethrow_exception(refusals.front());
    throw Unavailable(whole + ": " + why + ", and not all of them answer");
  }
  if (!refusals.empty()) std::rethrow_exception(refusals.front());
  if (!silent.empty()) throw_silence(silent.front(), whole);
  throw Unavailable(whole + ": no sentinel answers in time");
}

}  // namespace

Master connect_master(const NodeOptions& options, const Patience& patience) {
  std::string why;
  const auto give_up = [&] {
    throw Unavailable(options.endpoint.display() + ": the master is down: " + why);
  };
  while (true) {
    std::vector<HostAndPort> masters;
    try {
      masters = find_masters(options, patience);
    } catch (const Unavailable&) {
      if (why.empty()) throw;
      give_up();  // they have answered before: time has run out
    }
    for (const HostAndPort& master : masters) {
      try {
        // A master that is dead or cut off must leave time to ask for another.
        const TimePoint now = BootClock::now();
        const Patience half{now + (patience.deadline - now) / 2, patience.wake_fd};
        auto connection = connect_node(options, master, half);
        const Reply role = connection->command({"ROLE"}, half);
        if (!is_replica(role)) return {master, std::move(connection)};
        why = node_endpoint(options.endpoint, master).display() + " is a replica";
      } catch (const Unavailable& error) {
        if (why.empty()) why = error.what();  // what a server has answered tells more
      }
    }
    if (after(BootClock::now(), k_pause_between_rounds) >= patience.deadline) give_up();
    pause({after(BootClock::now(), k_pause_between_rounds), patience.wake_fd});
  }
}

}  // namespace rlock::redis
