// What must hold of a quorum.

#include <algorithm>

#include "explore/quorum_world.hpp"

namespace rlock::explore::quorum {
namespace {

using Kind = Action::Kind;

// Whether a vote is one that is still to be used, or to be taken back.
bool is_awaited(const World& world, std::size_t server, Name name) {
  const auto& excused = world.excused[server];
  if (std::find(excused.begin(), excused.end(), name) != excused.end()) return true;
  for (const Client& client : world.clients) {
    if (client.name == name && client.members[server].may_hold) return true;
    for (const Job& job : client.jobs[server]) {
      if (job.name == name && job.what == What::give_back) return true;
    }
  }
  return false;
}

bool is_empty(const World& world) {
  return std::all_of(world.servers.begin(), world.servers.end(), [](const Server* server) {
    return server->store.keys.empty() && server->up_ms == k_always_up;
  });
}

// Whether an action leads to an end.
bool ends(Kind kind) { return kind != Kind::start && kind != Kind::renew && kind != Kind::restart; }

}  // namespace

void check(const World& world) {
  int believers = 0;
  for (const Client& client : world.clients) believers += client.believes() ? 1 : 0;
  if (believers > 1) throw Violation{"two holders"};
  for (std::size_t i = 0; i < k_servers; ++i) {
    const Server& server = *world.servers[i];
    if (server.has_endless) throw Violation{"a server has a key without an end"};
    if (server.voters > 1) throw Violation{"a server has given two votes"};
    if (server.voted == 0) continue;
    if (server.count != 1) throw Violation{"a server counts a hold more than once"};
    if (!is_awaited(world, i, server.voted))
      throw Violation{"a vote is left that nobody takes back"};
  }
}

void play_to_end(Rules& rules, World world, std::uint64_t choice,
                 const std::function<void(const std::string&)>& told) {
  constexpr int k_most_steps = 1000;
  const auto apply = [&](const Action& action) { told(rules.apply(world, action)); };
  for (int step = 0; !is_quiet(world) || !world.flights.empty() || !is_empty(world); ++step) {
    if (step == k_most_steps) throw Violation{"something is left when all have gone"};
    std::vector<Action> all = rules.actions(world);
    // Time is not to pass before all that can be asked for is done, but now and then.
    const bool may_pass = all.size() == 1 || choice % 4 == 0;
    std::erase_if(all, [&](const Action& action) {
      return !ends(action.kind) || (action.kind == Kind::pass && !may_pass);
    });
    if (all.empty()) all.push_back({Kind::pass});
    choice = choice * 6364136223846793005ULL + 1442695040888963407ULL;
    apply(all[(choice >> 33) % all.size()]);
  }
  apply({Kind::start, 0});
  for (std::size_t server = 0; server < k_servers; ++server) apply({Kind::answered, 0, server});
  const Client& client = world.clients[0];
  const bool has_all =
      std::all_of(world.servers.begin(), world.servers.end(),
                  [&](const Server* server) { return server->voted == client.name; });
  if (!client.believes() || !has_all)
    throw Violation{"a new client does not get the lock that nobody has"};
}

}  // namespace rlock::explore::quorum
