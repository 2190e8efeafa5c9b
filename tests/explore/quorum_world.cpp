#include "explore/quorum_world.hpp"

#include <algorithm>
#include <map>

namespace rlock::explore::quorum {
namespace {

using Phase = Client::Phase;
using Kind = Action::Kind;

// How many jobs may be left to the thread of one node when more are given to all. The others are
// not behind: one server that hangs is enough to have everything late that can be.
constexpr std::size_t k_most_jobs = 2;
constexpr std::size_t k_most_flights = 2;

bool is_behind(const Client& client) {
  std::size_t left = 0, nodes = 0;
  for (const auto& jobs : client.jobs) {
    left += jobs.size();
    nodes += jobs.empty() ? 0 : 1;
  }
  return nodes > 1 || left > k_most_jobs;
}

bool has_jobs(const Client& client) {
  return std::any_of(client.jobs.begin(), client.jobs.end(),
                     [](const auto& jobs) { return !jobs.empty(); });
}

bool names(const Server& server, Name name) {
  return std::find(server.names.begin(), server.names.end(), name) != server.names.end();
}

// Whether anybody can still send a request with this name to this server.
bool is_wanted(const World& world, std::size_t server, Name name) {
  for (const Client& client : world.clients) {
    if (client.name == name) return true;
    const auto& jobs = client.jobs[server];
    if (std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) { return job.name == name; }))
      return true;
  }
  return std::any_of(world.flights.begin(), world.flights.end(), [&](const Flight& flight) {
    return flight.server == server && flight.request.name == name;
  });
}

bool is_used(const World& world, Name name) {
  for (std::size_t i = 0; i < k_servers; ++i) {
    if (names(*world.servers[i], name) || is_wanted(world, i, name)) return true;
  }
  return false;
}

}  // namespace

bool is_quiet(const World& world) {
  return std::all_of(world.clients.begin(), world.clients.end(), [](const Client& client) {
    return client.phase == Phase::idle && !has_jobs(client);
  });
}

bool Bugs::plant(const std::string& name) {
  const std::map<std::string, bool*> all{{"majority-of-half", &majority_of_half},
                                         {"votes-kept", &votes_kept},
                                         {"lease-from-answer", &lease_from_answer},
                                         {"renewal-from-answer", &renewal_from_answer},
                                         {"renewed-by-one", &renewed_by_one},
                                         {"owner-kept", &owner_kept},
                                         {"doubt-forgotten", &doubt_forgotten},
                                         {"latch-dropped", &latch_dropped},
                                         {"late-majority-believed", &late_majority_believed}};
  const auto found = all.find(name);
  if (found == all.end()) return false;
  *found->second = true;
  return true;
}

World Rules::first_world(int clients, int faults) {
  World world;
  world.servers.fill(servers_.empty());
  world.clients.resize(static_cast<std::size_t>(clients));
  world.faults = faults;
  return world;
}

std::vector<Action> Rules::actions(const World& world) const {
  std::vector<Action> all;
  const bool may_fail = world.faults > 0;
  for (int i = 0; i < static_cast<int>(world.clients.size()); ++i) {
    const Client& client = world.clients[static_cast<std::size_t>(i)];
    const auto add = [&](Kind kind, std::size_t server = 0) { all.push_back({kind, i, server}); };
    if (client.phase == Phase::idle && !is_behind(client)) add(Kind::start);
    if (client.phase == Phase::asking) add(Kind::give_up);
    if (client.phase == Phase::holding) {
      if (!client.is_renewing && client.left_ms > 0 && !is_behind(client)) add(Kind::renew);
      add(Kind::release);
    }
    if (may_fail && (client.phase != Phase::idle || has_jobs(client))) add(Kind::crash);
    for (std::size_t server = 0; server < k_servers; ++server) {
      if (client.jobs[server].empty()) continue;
      const Job& job = client.jobs[server].front();
      add(Kind::answered, server);
      if (job.is_sent) {
        add(Kind::fail, server);
        continue;
      }
      // Nobody wants this vote any more, so that the thread does not ask for it if it has not yet.
      if (job.what == What::take && job.name != client.name) add(Kind::skip, server);
      if (!may_fail) continue;
      add(Kind::lost, server);
      add(Kind::unreached, server);
      if (world.flights.size() < k_most_flights) add(Kind::late, server);
    }
  }
  for (std::size_t server = 0; may_fail && server < k_servers; ++server)
    all.push_back({Kind::restart, -1, server});
  for (std::size_t flight = 0; flight < world.flights.size(); ++flight)
    all.push_back({Kind::arrive, -1, flight});
  all.push_back({Kind::pass});
  return all;
}

std::string Rules::apply(World& world, const Action& action) {
  sent_.clear();
  passed_ms_ = 0;
  const std::string server = "server " + std::to_string(action.server + 1);
  std::string text;
  if (action.kind == Kind::pass) {
    pass(world);
    text = "time passes: " + std::to_string(passed_ms_) + " ms";
  } else if (action.kind == Kind::restart) {
    --world.faults;
    restart(world, action.server);
    text = server + " restarts, and has forgotten everything";
  } else if (action.kind == Kind::arrive) {
    const Flight& flight = world.flights[action.server];
    text = std::string("a late request to ") + name_of(flight.request.what) +
           " arrives at server " + std::to_string(flight.server + 1);
    arrive(world, action.server);
  } else {
    text = act(world, action);
  }
  check(world);
  settle(world);
  check(world);
  return text;
}

std::string Rules::act(World& world, const Action& action) {
  Client& client = world.clients[static_cast<std::size_t>(action.client)];
  const Place place{action.client, action.server};
  const auto& jobs = client.jobs[action.server];
  const std::string server = "server " + std::to_string(action.server + 1);
  const std::string job =
      jobs.empty() ? "" : std::string(": ") + name_of(jobs.front().what) + " at " + server;
  std::string text = "client " + std::to_string(action.client + 1);
  switch (action.kind) {
    case Kind::start:
      start(world, client);
      text += " asks all for the lock";
      break;
    case Kind::give_up:
      end_attempt(client, false);
      text += " gives up";
      break;
    case Kind::renew:
      start_renewal(client);
      text += " asks all to renew the lease";
      break;
    case Kind::release:
      end_attempt(client, true);
      text += " releases the lock";
      break;
    case Kind::crash:
      --world.faults;
      crash(world, client);
      text += " crashes";
      break;
    case Kind::answered:
      text += job + ": " + answer(world, place);
      break;
    case Kind::lost:
      --world.faults;
      lose(world, place);
      text += job + ", and the answer is lost";
      break;
    case Kind::late:
      --world.faults;
      leave_late(world, place);
      text += job + ", but the request is late, and given up";
      break;
    case Kind::unreached:
      --world.faults;
      fail(world, place);
      text += job + " cannot be reached";
      break;
    case Kind::fail:
      fail(world, place);
      text += job + " does not answer: given up";
      break;
    case Kind::skip:
      client.jobs[action.server].erase(client.jobs[action.server].begin());
      text += job + ": nobody wants it any more";
      break;
    default:
      break;
  }
  return text;
}

void Rules::start(World& world, Client& client) {
  Name name = 1;
  while (is_used(world, name)) ++name;
  if (bugs_.owner_kept) name = 1 + static_cast<Name>(&client - world.clients.data());
  client.phase = Phase::asking;
  client.name = name;
  client.left_ms = k_lease_ms;
  client.members = {};
  for (auto& jobs : client.jobs) jobs.push_back({.what = What::take, .name = name});
}

void Rules::restart(World& world, std::size_t server) {
  const int before = world.servers[server]->store.run_id[0] - '0';
  world.servers[server] = servers_.restarted(before == 1 ? 1 : 0);
  // Their connections have ended.
  std::erase_if(world.flights, [&](const Flight& flight) { return flight.server == server; });
  const auto fresh = std::count_if(world.servers.begin(), world.servers.end(),
                                   [](const Server* one) { return one->up_ms != k_always_up; });
  const bool is_held = std::any_of(world.clients.begin(), world.clients.end(),
                                   [](const Client& client) { return client.believes(); });
  if (fresh >= 2 && is_held) ++counts_.restarts_of_majority;
}

void Rules::pass(World& world) {
  std::int64_t next = is_quiet(world) ? 3'600'000 : k_step_ms;
  const auto consider = [&](std::int64_t in) {
    if (in > 0) next = std::min(next, in);
  };
  for (const Server* server : world.servers) consider(server->next_ms);
  for (const Client& client : world.clients) {
    consider(client.left_ms);
    consider(client.renewal_left_ms);
    for (const auto& jobs : client.jobs) {
      for (const Job& job : jobs) consider(job.bound_ms);
    }
  }
  for (const Flight& flight : world.flights) consider(flight.left_ms);
  const auto shorten = [&](std::int64_t& span) { span = std::max<std::int64_t>(span - next, 0); };
  for (const Server*& server : world.servers) server = servers_.later(server, next);
  for (Client& client : world.clients) {
    shorten(client.left_ms);
    shorten(client.renewal_left_ms);
    for (auto& jobs : client.jobs) {
      for (Job& job : jobs) shorten(job.bound_ms);
    }
  }
  for (Flight& flight : world.flights) flight.left_ms -= next;
  std::erase_if(world.flights, [](const Flight& flight) { return flight.left_ms <= 0; });
  passed_ms_ = next;
}

// Drops what a node's thread would not send.
void Rules::settle(World& world) {
  for (int i = 0; i < static_cast<int>(world.clients.size()); ++i) {
    Client& client = world.clients[static_cast<std::size_t>(i)];
    for (std::size_t server = 0; server < k_servers; ++server) {
      auto& jobs = client.jobs[server];
      while (!jobs.empty()) {
        const Job& job = jobs.front();
        const bool is_bound = job.what == What::renew || job.what == What::restore;
        if (job.what == What::give_back && !job.may_hold) {
          jobs.erase(jobs.begin());
        } else if (is_bound && job.bound_ms <= 0) {
          fail(world, {i, server});
        } else {
          break;
        }
      }
    }
  }
  for (std::size_t server = 0; server < k_servers; ++server) {
    // Latches that nobody can ask for make no difference. That they end by themselves is checked.
    for (const Name name : world.servers[server]->latches) {
      if (!is_wanted(world, server, name))
        world.servers[server] = servers_.without_latch(world.servers[server], name);
    }
    std::erase_if(world.excused[server], [&](Name name) {
      return world.servers[server]->voted != name &&
             std::none_of(world.flights.begin(), world.flights.end(), [&](const Flight& flight) {
               return flight.server == server && flight.request.name == name;
             });
    });
  }
}

}  // namespace rlock::explore::quorum
