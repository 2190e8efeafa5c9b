// Explores every order in which messages to three servers, their restarts, clients and time can act
// on a lock that a majority of the servers keeps: nearest first, so that what it finds is short.
// See tests/explore/run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "explore/quorum_world.hpp"
#include "explore/search.hpp"

using namespace rlock::explore;
using namespace rlock::explore::quorum;

namespace {

struct Options {
  int clients = 2;
  std::size_t states = 1'000'000;
  double seconds = 600;
  int faults = 3;
  std::uint64_t walks = 0;
  std::int64_t delay_ms = k_lease_ms;
  std::string lua;
  Bugs bugs;
};

// How long a step makes the way. What mostly happens counts less: so that is looked at to a greater
// depth than several faults in a row.
std::size_t length_of(const Action& action) {
  switch (action.kind) {
    case Action::Kind::start:
    case Action::Kind::renew:
    case Action::Kind::answered:
    case Action::Kind::pass:
      return 2;
    case Action::Kind::release:
    case Action::Kind::skip:
    case Action::Kind::fail:
    case Action::Kind::arrive:
      return 3;
    case Action::Kind::give_up:
      return 4;
    default:  // faults
      return 6;
  }
}

// Prints one step, as lines of a script.
void print_step(const Rules& rules, const Servers& servers, const std::string& text) {
  std::cout << "# " << text << "\n";
  if (rules.passed_ms() > 0) std::cout << "sleep " << rules.passed_ms() / 1000 << "\n";
  for (const auto& [server, request] : rules.sent()) {
    const Servers::Sent sent = servers.sent(request);
    std::cout << "redis-cli -u \"$SERVER" << server + 1 << "\" ";
    if (sent.script.empty()) {
      std::cout << "del " << quoted(sent.keys.at(0)) << "\n";
      continue;
    }
    std::cout << "--eval \"$LUA/" << sent.script << ".lua\"";
    for (const auto& key : sent.keys) std::cout << " " << quoted(key);
    std::cout << " ,";
    for (const auto& arg : sent.args) std::cout << " " << quoted(arg);
    std::cout << "\n";
  }
}

// Prints how to get to a violation, as a script for redis-cli: $LUA is a folder with the scripts as
// they are sent, $SERVER1 to $SERVER3 are the servers.
void print_path(LuaHost& host, const Options& options, const Found& found) {
  Servers servers(host, options.delay_ms);
  Rules rules(servers, options.bugs);
  World world = rules.first_world(options.clients, options.faults);
  std::cout << "#!/bin/sh\n# Names of owners and holds are short.\n";
  for (const std::uint16_t action : found.path) {
    std::string text;
    try {
      text = rules.apply(world, rules.actions(world).at(action));
    } catch (const Violation& violation) {
      text = "=> " + violation.what;
    }
    print_step(rules, servers, text);
  }
  if (found.choice) {
    std::cout << "# Everything comes to an end:\n";
    try {
      play_to_end(rules, world, *found.choice,
                  [&](const std::string& text) { print_step(rules, servers, text); });
    } catch (const Violation& violation) {
      print_step(rules, servers, "=> " + violation.what);
    }
  }
  for (std::size_t i = 0; i < k_servers; ++i) {
    std::string text = "server " + std::to_string(i + 1) + ":\n" + world.servers[i]->text;
    for (std::size_t line = 0; (line = text.find('\n', line)) != std::string::npos; line += 3)
      text.replace(line, 1, "\n#   ");
    std::cout << "# " << text << "\n";
  }
  std::cout.flush();
}

void print_counts(const Counts& counts) {
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "%llu grants, %llu attempts without a majority, %llu majorities too late, %llu renewals, "
      "%llu losses, %llu votes given again, %llu refused after a restart, %llu times a majority "
      "had "
      "restarted under a holder",
      number(counts.grants), number(counts.splits), number(counts.late_majorities),
      number(counts.renewals), number(counts.losses), number(counts.restored),
      number(counts.votes_refused), number(counts.restarts_of_majority));
}

// Goes long ways at random, far beyond where all of them can be gone. Each has a seed of its own:
// the same number finds the same.
int walk(const Options& options) {
  constexpr int k_steps = 300;
  const Stopwatch time;
  LuaHost host(options.lua);
  Servers servers(host, options.delay_ms);
  Rules rules(servers, options.bugs);
  std::uint64_t walks = 0;
  for (; walks < options.walks && time.seconds() < options.seconds; ++walks) {
    std::mt19937_64 random(walks);
    World world = rules.first_world(options.clients, options.faults);
    std::vector<std::uint16_t> path;
    try {
      while (path.size() < k_steps) {
        const auto actions = rules.actions(world);
        std::vector<double> weights;
        for (const Action& action : actions)
          weights.push_back(1.0 / static_cast<double>(length_of(action) * length_of(action)));
        std::discrete_distribution<std::size_t> choose(weights.begin(), weights.end());
        const std::size_t chosen = choose(random);
        path.push_back(static_cast<std::uint16_t>(chosen));
        rules.apply(world, actions[chosen]);
      }
    } catch (const Violation& violation) {
      std::printf("quorum: VIOLATION: %s (walk %llu, %zu steps, %.1f s)\n", violation.what.c_str(),
                  static_cast<unsigned long long>(walks), path.size(), time.seconds());
      std::fflush(stdout);
      print_path(host, options, {violation.what, path, std::nullopt, k_steps});
      return 1;
    }
  }
  std::printf("quorum, %d clients, 3 servers: %llu walks of %d steps; ", options.clients,
              static_cast<unsigned long long>(walks), k_steps);
  print_counts(rules.counts());
  std::printf(", %.1f s\n", time.seconds());
  return 0;
}

struct Game {
  const Options& options;
  Servers& servers;
  Rules rules;
  std::size_t held = 0;  // worlds in which a client believes

  [[nodiscard]] World first() { return rules.first_world(options.clients, options.faults); }
  [[nodiscard]] auto actions(const World& world) const { return rules.actions(world); }
  void apply(World& world, const Action& action) { rules.apply(world, action); }
  static std::size_t length(const Action& action, const World& /*before*/, const World& /*after*/) {
    return length_of(action);
  }
  static std::string text_of(const World& world) { return quorum::text_of(world); }
  void play_to_end(const World& world, std::uint64_t choice) {
    Rules ending(servers, options.bugs);  // whose counts do not matter
    quorum::play_to_end(ending, world, choice, [](const std::string&) {});
  }
  void count(const World& world) {
    for (const Client& client : world.clients) held += client.believes() ? 1 : 0;
  }
};

int explore_all(const Options& options) {
  const Stopwatch time;
  LuaHost host(options.lua);
  Servers servers(host, options.delay_ms);
  Game game{options, servers, Rules(servers, options.bugs)};
  Extent extent;
  if (const auto found = search<World>(game, options.states, options.seconds, extent)) {
    std::printf("quorum: VIOLATION: %s (%zu states, depth %d, %.1f s)\n", found->what.c_str(),
                extent.states, found->depth, time.seconds());
    std::fflush(stdout);
    print_path(host, options, *found);
    return 1;
  }
  std::printf(
      "quorum, %d clients, 3 servers: %zu states%s, %llu transitions, %llu script calls, %zu "
      "states of one server, depth %d, %zu played to the end, %zu states in which a client "
      "believes; ",
      options.clients, extent.states, extent.are_all ? " (all)" : "",
      static_cast<unsigned long long>(extent.transitions),
      static_cast<unsigned long long>(host.calls()), servers.count(), extent.depth, extent.ends,
      game.held);
  print_counts(game.rules.counts());
  std::printf(", %.1f s\n", time.seconds());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    bool is_known = !value.empty();
    if (name == "--clients") {
      options.clients = std::atoi(value.c_str());
    } else if (name == "--states") {
      options.states = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--seconds") {
      options.seconds = std::atof(value.c_str());
    } else if (name == "--faults") {
      options.faults = std::atoi(value.c_str());
    } else if (name == "--walks") {
      options.walks = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--delay") {  // of a restarted server's votes
      options.delay_ms = std::atoll(value.c_str());
    } else if (name == "--lua") {
      options.lua = value;
    } else if (name == "--bug") {  // of the clients
      is_known = options.bugs.plant(value);
    } else {
      is_known = false;
    }
    if (!is_known) {
      std::fprintf(
          stderr,
          "usage: rlock_explore_quorum [--clients N] [--states N] [--seconds N] [--faults N] "
          "[--walks N] [--delay MS] [--lua DIR] [--bug NAME]: %s %s\n",
          name.c_str(), value.c_str());
      return 2;
    }
  }
  return options.walks > 0 ? walk(options) : explore_all(options);
}
