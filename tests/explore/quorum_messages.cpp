// What becomes of messages to servers, and of their answers.
#include <algorithm>

#include "explore/quorum_world.hpp"

namespace rlock::explore::quorum {
namespace {

using Phase = Client::Phase;
using Round = Job::Round;

// Calls `change` with what is known of one server's part in an attempt, also if it is over: then it
// stands with the job that takes the vote back.
template <typename Change>
void with_member(Client& client, std::size_t server, Name name, Change change) {
  if (client.name == name) {
    Member& member = client.members[server];
    change(member.may_hold, member.is_in_doubt);
    return;
  }
  for (Job& job : client.jobs[server]) {
    if (job.what == What::give_back && job.name == name) change(job.may_hold, job.is_in_doubt);
  }
}

bool contains(const std::vector<Name>& all, Name name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

void excuse(World& world, std::size_t server, Name name) {
  if (!contains(world.excused[server], name)) world.excused[server].push_back(name);
}

// The server has carried out what takes a vote back.
void note_given_back(World& world, std::size_t server, Name name) {
  for (Flight& flight : world.flights) {
    if (flight.server == server && flight.request.name == name) flight.is_over = true;
  }
}

}  // namespace

const Reply& Rules::send(World& world, std::size_t server, const Request& request) {
  sent_.emplace_back(server, request);
  const Server::Outcome& outcome = servers_.run(world.servers[server], request);
  const Name voted = world.servers[server]->voted;
  world.servers[server] = outcome.server;
  if (voted != 0 && voted != request.name && outcome.server->voted != voted)
    throw Violation{"a request has taken the vote of another client's attempt"};
  if (!outcome.violation.empty()) throw Violation{outcome.violation};
  return outcome.reply;
}

void Rules::crash(World& world, Client& client) {
  for (std::size_t i = 0; i < k_servers; ++i) {
    if (client.name != 0) excuse(world, i, client.name);
    for (const Job& job : client.jobs[i]) excuse(world, i, job.name);
  }
  client = Client{};
}

std::string Rules::answer(World& world, Place place) {
  const auto [index, server] = place;
  Client& client = world.clients[static_cast<std::size_t>(index)];
  auto& jobs = client.jobs[server];
  const Job job = jobs.front();
  jobs.erase(jobs.begin());
  const bool is_current = client.name == job.name;
  // Servers that differ in their run alone are the same: so it is that of before.
  const std::string& run = world.servers[server]->store.run_id;
  const Reply& reply = send(world, server, {job.what, job.name, job.wakes});
  const std::int64_t code = job.what == What::renew ? reply.integer : reply.items.at(0).integer;
  const Server& now = *world.servers[server];
  switch (job.what) {
    case What::take:
    case What::restore: {
      if (code == 2) throw Violation{"who asks for a vote is told that its hold has ended"};
      if (code != 0 && code != 1 && code != 5) throw Violation{"a vote is refused for good"};
      if (code == 5 && job.what == What::restore)
        throw Violation{"a holder is not given its vote again"};
      const bool is_granted = code == 1;
      if (is_granted && (now.voted != job.name || now.left_ms < k_lease_ms))
        throw Violation{"granted, but the server keeps nothing"};
      if (is_granted && reply.items.at(4).text != run)
        throw Violation{"a vote does not tell which run of the server it is from"};
      counts_.votes_refused += code == 5 ? 1 : 0;
      counts_.restored += is_granted && job.what == What::restore ? 1 : 0;
      with_member(client, server, job.name, [&](bool& may_hold, const bool& is_in_doubt) {
        if (job.what == What::take) may_hold = is_granted || is_in_doubt;
      });
      if (job.what == What::take && is_current) {
        if (client.phase == Phase::asking)
          client.members[server].vote = is_granted ? Vote::yes : Vote::no;
        decide(client);
      }
      return is_granted ? "granted" : code == 5 ? "not yet, after a restart" : "refused";
    }
    case What::renew: {
      if (code == 1 && (now.voted != job.name || now.left_ms < k_lease_ms))
        throw Violation{"renewed, but the server keeps nothing"};
      const bool is_lost = code != 1;
      if (job.round == Round::open && is_current) {
        client.members[server].renewed = is_lost ? Vote::no : Vote::yes;
        decide_renewal(client);
      } else if (is_lost && job.round == Round::confirmed) {
        with_member(client, server, job.name, [](bool& may_hold, bool&) { may_hold = true; });
        jobs.insert(jobs.begin(),
                    {.what = What::restore, .name = job.name, .bound_ms = job.bound_ms});
      }
      return is_lost ? "lost" : "renewed";
    }
    case What::give_back:
      note_given_back(world, server, job.name);
      if (now.voted == job.name) throw Violation{"a server keeps a vote that it has given back"};
      // With every request answered, none can still be under way that the latch would have to stop.
      if (!job.is_in_doubt || bugs_.latch_dropped) send(world, server, {What::forget, job.name});
      return code == 1 ? "done" : "it has none";
    case What::forget:
      break;
  }
  return "";
}

// The server has carried it out, and its client does not know.
void Rules::lose(World& world, Place place) {
  const auto [index, server] = place;
  Client& client = world.clients[static_cast<std::size_t>(index)];
  Job& job = client.jobs[server].front();
  send(world, server, {job.what, job.name, job.wakes});
  job.is_sent = true;
  if (job.what == What::give_back) {
    note_given_back(world, server, job.name);
    if (world.servers[server]->voted == job.name)
      throw Violation{"a server keeps a vote that it has given back"};
  }
  if (job.what == What::renew) return;  // it counts nothing
  with_member(client, server, job.name, [&](bool& may_hold, bool& is_in_doubt) {
    is_in_doubt = !bugs_.doubt_forgotten;
    may_hold = may_hold || is_in_doubt;
  });
}

void Rules::leave_late(World& world, Place place) {
  const auto [index, server] = place;
  Client& client = world.clients[static_cast<std::size_t>(index)];
  const Job& job = client.jobs[server].front();
  world.flights.push_back({server, {job.what, job.name, job.wakes}, k_longest_way_ms, false});
  if (job.what != What::renew) {
    with_member(client, server, job.name, [&](bool& may_hold, bool& is_in_doubt) {
      is_in_doubt = !bugs_.doubt_forgotten;
      may_hold = may_hold || is_in_doubt;
    });
  }
  fail(world, place);
}

void Rules::fail(World& world, Place place) {
  const auto [index, server] = place;
  Client& client = world.clients[static_cast<std::size_t>(index)];
  auto& jobs = client.jobs[server];
  const Job job = jobs.front();
  jobs.erase(jobs.begin());
  if (job.what == What::give_back) excuse(world, server, job.name);
  if (client.name != job.name) return;
  if (job.what == What::take && client.phase == Phase::asking) {
    client.members[server].vote = Vote::failed;
    decide(client);
  } else if (job.what == What::renew && job.round == Round::open) {
    client.members[server].renewed = Vote::failed;
    decide_renewal(client);
  }
}

void Rules::arrive(World& world, std::size_t index) {
  const Flight flight = world.flights[index];
  world.flights.erase(world.flights.begin() + static_cast<std::ptrdiff_t>(index));
  const bool had_vote = world.servers[flight.server]->voted == flight.request.name;
  send(world, flight.server, flight.request);
  const bool has_vote = world.servers[flight.server]->voted == flight.request.name;
  if (flight.request.what == What::give_back) {
    note_given_back(world, flight.server, flight.request.name);
    if (has_vote) throw Violation{"a server keeps a vote that it has given back"};
  }
  if (flight.is_over && has_vote && !had_vote)
    throw Violation{"a late request has brought back a vote that was taken back"};
}

}  // namespace rlock::explore::quorum
