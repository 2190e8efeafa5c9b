#include "explore/quorum_world.hpp"

#include <algorithm>
#include <map>

namespace rlock::explore::quorum {
namespace {

using Phase = Client::Phase;
using Round = Job::Round;
using Kind = Action::Kind;

constexpr lock::Majority k_majority{k_servers};
// How many jobs may be left to the thread of one node when more are given to all. The others are
// not behind: one server that hangs is enough to have everything late that can be.
constexpr std::size_t k_most_jobs = 2;
constexpr std::size_t k_most_flights = 2;

std::size_t count(const Client& client, Vote Member::*which, Vote vote) {
  return static_cast<std::size_t>(
      std::count_if(client.members.begin(), client.members.end(),
                    [&](const Member& member) { return member.*which == vote; }));
}

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

void set_round(Client& client, Round round, std::int64_t bound_ms) {
  for (auto& jobs : client.jobs) {
    for (Job& job : jobs) {
      if (job.what != What::renew || job.round != Round::open) continue;
      job.round = round;
      job.bound_ms = bound_ms;
    }
  }
}

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

std::size_t Rules::needed() const {
  return bugs_.majority_of_half ? k_majority.servers / 2 : k_majority.needed();
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
    Client& client = world.clients[static_cast<std::size_t>(action.client)];
    const Place place{action.client, action.server};
    const auto& jobs = client.jobs[action.server];
    const std::string job =
        jobs.empty() ? "" : std::string(": ") + name_of(jobs.front().what) + " at " + server;
    text = "client " + std::to_string(action.client + 1);
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
  }
  check(world);
  settle(world);
  check(world);
  return text;
}

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

void Rules::start_renewal(Client& client) {
  client.is_renewing = true;
  client.renewal_left_ms = k_lease_ms;
  for (std::size_t i = 0; i < k_servers; ++i) {
    client.members[i].renewed = Vote::none;
    client.jobs[i].push_back({.what = What::renew,
                              .name = client.name,
                              .round = Round::open,
                              .bound_ms = client.left_ms});
  }
}

void Rules::end_attempt(Client& client, bool is_release) {
  const bool gives_back = is_release || !bugs_.votes_kept;
  for (std::size_t i = 0; i < k_servers && gives_back; ++i) {
    const Member& member = client.members[i];
    client.jobs[i].push_back({.what = What::give_back,
                              .name = client.name,
                              .wakes = is_release,
                              .may_hold = member.may_hold,
                              .is_in_doubt = member.is_in_doubt});
  }
  set_round(client, Round::over, 0);
  client.phase = Phase::idle;
  client.name = 0;
  client.left_ms = client.renewal_left_ms = 0;
  client.is_renewing = false;
  client.members = {};
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

// As QuorumLock::attempt.
void Rules::decide(Client& client) {
  if (client.phase != Phase::asking) return;
  const std::size_t granted = count(client, &Member::vote, Vote::yes);
  const std::size_t open = count(client, &Member::vote, Vote::none);
  const std::size_t others = k_servers - open - granted;
  if (granted >= needed()) {
    if (bugs_.lease_from_answer) client.left_ms = k_lease_ms;
    if (bugs_.late_majority_believed) client.left_ms = std::max(client.left_ms, k_step_ms);
    if (client.left_ms > 0) {
      client.phase = Phase::holding;
      for (Member& member : client.members) member.vote = Vote::none;  // they have been counted
      ++counts_.grants;
      return;
    }
    ++counts_.late_majorities;  // as Wait::run: it asks again
    end_attempt(client, false);
  } else if (k_majority.is_blocked_by(others) || open == 0) {
    ++counts_.splits;
    end_attempt(client, false);
  }
}

// As QuorumLock::renew.
void Rules::decide_renewal(Client& client) {
  const std::size_t renewed = count(client, &Member::renewed, Vote::yes);
  const std::size_t lost = count(client, &Member::renewed, Vote::no);
  const std::size_t failed = count(client, &Member::renewed, Vote::failed);
  const std::int64_t before_ms = client.left_ms;
  if (renewed >= (bugs_.renewed_by_one ? 1 : needed())) {
    client.left_ms = bugs_.renewal_from_answer ? k_lease_ms : client.renewal_left_ms;
    ++counts_.renewals;
    for (std::size_t i = 0; i < k_servers; ++i) {
      Member& member = client.members[i];
      if (member.renewed != Vote::no || before_ms <= 0) continue;
      member.may_hold = true;
      client.jobs[i].push_back({.what = What::restore, .name = client.name, .bound_ms = before_ms});
    }
    set_round(client, Round::confirmed, before_ms);
  } else if (k_majority.is_blocked_by(lost)) {
    ++counts_.losses;
    return end_attempt(client, true);
  } else if (k_majority.is_blocked_by(failed) || renewed + lost + failed == k_servers) {
    set_round(client, Round::over, before_ms);
  } else {
    return;
  }
  client.is_renewing = false;
  client.renewal_left_ms = 0;
  for (Member& member : client.members) member.renewed = Vote::none;
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
