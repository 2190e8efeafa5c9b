// Which worlds are the same.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "explore/quorum_world.hpp"

namespace rlock::explore::quorum {
namespace {

std::string number(std::int64_t value) { return std::to_string(value) + " "; }

std::string described(const Job& job) {
  std::string text = number(static_cast<int>(job.what)) + text_of(job.name);
  text += job.is_sent ? 's' : '-';
  text += static_cast<char>('0' + static_cast<int>(job.round));
  text += job.may_hold ? 'm' : '-';
  text += job.is_in_doubt ? 'd' : '-';
  return text + number(job.bound_ms);
}

std::string described(const Client& client) {
  return number(static_cast<int>(client.phase)) + number(client.left_ms) +
         (client.is_renewing ? "r" : "") + number(client.renewal_left_ms);
}

// All that is known of one server and of what its clients want of it.
std::string block_of(const World& world, std::size_t server,
                     const std::vector<std::size_t>& order) {
  std::string text = world.servers[server]->brief;
  for (const std::size_t i : order) {
    const Client& client = world.clients[i];
    const Member& member = client.members[server];
    text += "c" + text_of(client.name);
    text += member.may_hold ? 'm' : '-';
    text += member.is_in_doubt ? 'd' : '-';
    text += static_cast<char>('0' + static_cast<int>(member.vote));
    text += static_cast<char>('0' + static_cast<int>(member.renewed));
    for (const Job& job : client.jobs[server]) text += described(job);
  }
  std::vector<std::string> flights;
  for (const Flight& flight : world.flights) {
    if (flight.server != server) continue;
    flights.push_back("f" + number(static_cast<int>(flight.request.what)) +
                      text_of(flight.request.name) + (flight.is_over ? "o" : "-") +
                      number(flight.left_ms));
  }
  std::sort(flights.begin(), flights.end());
  for (const std::string& flight : flights) text += flight;
  text += "x";
  std::vector<Name> excused = world.excused[server];
  std::sort(excused.begin(), excused.end());
  for (const Name name : excused) text += text_of(name);
  return text + "\n";
}

std::string text_in(const World& world, const std::vector<std::size_t>& order) {
  std::array<std::pair<std::string, std::string>, k_servers> blocks;
  for (std::size_t i = 0; i < k_servers; ++i) {
    blocks[i].second = block_of(world, i, order);
    // Those of attempts that are over have no order yet.
    blocks[i].first = renamed(blocks[i].second, [&](Name name) {
      for (std::size_t client = 0; client < order.size(); ++client) {
        if (name != 0 && world.clients[order[client]].name == name)
          return std::string(1, static_cast<char>('A' + client));
      }
      return std::string("?");
    });
  }
  std::sort(blocks.begin(), blocks.end());
  std::string text;
  for (const std::size_t i : order) text += described(world.clients[i]);
  for (const auto& [shape, block] : blocks) text += block;
  std::vector<Name> seen{0};
  return renamed(text, [&](Name name) {
    auto found = std::find(seen.begin(), seen.end(), name);
    if (found == seen.end()) found = seen.insert(seen.end(), name);
    return "n" + std::to_string(found - seen.begin());
  });
}

}  // namespace

// Clients that differ have one order only.
std::string text_of(const World& world) {
  std::vector<std::pair<std::string, std::size_t>> clients;
  for (std::size_t i = 0; i < world.clients.size(); ++i)
    clients.emplace_back(described(world.clients[i]), i);
  std::sort(clients.begin(), clients.end());
  std::string least;
  do {
    std::vector<std::size_t> order;
    for (const auto& [text, i] : clients) order.push_back(i);
    std::string text = text_in(world, order);
    if (least.empty() || text < least) least = std::move(text);
    // The next order of those that are the same.
  } while (std::next_permutation(clients.begin(), clients.end()) &&
           std::is_sorted(clients.begin(), clients.end(), [](const auto& one, const auto& other) {
             return one.first < other.first;
           }));
  return least + number(world.faults);
}

}  // namespace rlock::explore::quorum
