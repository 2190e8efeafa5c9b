// Explores every order in which clients, lost replies and time can act on a lock: nearest first, so
// that what it finds is short. See tests/explore/run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "explore/ending.hpp"
#include "explore/moments.hpp"
#include "explore/promises.hpp"
#include "explore/search.hpp"
#include "explore/world.hpp"

using namespace rlock::explore;

namespace {

struct Options {
  Kind kind = Kind::plain;
  int clients = 2;
  int permits = 1;
  std::size_t states = 1'000'000;
  double seconds = 600;
  int faults = 3;
  std::string lua;
};

// Prints the requests of one step, as lines of a script.
void print_step(const Rules& rules, const std::string& text) {
  std::cout << "# " << text << "\n";
  if (rules.passed_ms() > 0)
    std::printf("sleep %.3f\n", static_cast<double>(rules.passed_ms()) / 1000);
  std::fflush(stdout);
  for (const Sent& sent : rules.sent()) {
    std::cout << "redis-cli --eval \"$LUA/" << sent.script << ".lua\"";
    for (const auto& key : sent.keys) std::cout << " " << quoted(key);
    std::cout << " ,";
    for (const auto& arg : sent.args) std::cout << " " << quoted(arg);
    std::cout << "\n";
  }
  std::cout.flush();
}

// What a step did that broke a promise, with what there is then.
std::string told_of(const Violation& violation, World& world) {
  std::string text = "=> " + violation.what + "\n" + normalise(world);
  for (std::size_t line = 0; (line = text.find('\n', line)) != std::string::npos; line += 3)
    text.replace(line, 1, "\n#   ");
  return text;
}

// Prints how to get to a violation, as a script for redis-cli: $LUA is a folder with the scripts as
// they are sent, and the folder redisson. `last`: the action that led to it; or, with `choice`,
// that to the world whose end did.
void print_path(LuaHost& host, const Options& options, const std::vector<Step>& steps,
                std::uint32_t at, std::uint16_t last, std::optional<std::uint64_t> choice) {
  std::vector<std::uint16_t> path{last};
  for (; at != 0; at = steps[at].from) path.push_back(steps[at].action);
  const Layout layout(options.kind, options.permits);
  Rules rules(host, layout);
  World world = first_world(layout, options.clients, options.faults);
  std::cout << "#!/bin/sh\n# Moments are those of a server; names of owners and holds are short.\n";
  if (options.kind == Kind::service) std::cout << "redis-cli set L " << options.permits << "\n";
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    const Action action = rules.actions(world).at(*it);
    std::string text;
    try {
      text = rules.apply(world, action);
      normalise(world);
    } catch (const Violation& violation) {
      text = told_of(violation, world);
    }
    print_step(rules, text);
  }
  if (!choice) return;
  std::cout << "# Everything comes to an end:\n";
  try {
    play_to_end(rules, layout, world, *choice,
                [&](const std::string& text) { print_step(rules, text); });
  } catch (const Violation& violation) {
    print_step(rules, "=> " + violation.what);
  }
}

int explore(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  LuaHost host(options.lua);
  if (is_mixed(options.kind)) host.add(RLOCK_EXPLORE_REDISSON);
  const Layout layout(options.kind, options.permits);
  Rules rules(host, layout);
  std::unordered_set<Hash128, Hasher> seen;
  std::vector<Step> steps;
  struct Open {
    World world;
    std::uint32_t id;
    int depth;
  };
  // By how many steps they are away, where a fault counts as several: so what needs few faults is
  // looked at to a greater depth.
  constexpr int k_fault_steps = 3;
  std::vector<std::deque<Open>> open;
  std::size_t nearest = 0;
  std::uint64_t transitions = 0;
  int depth = 0;
  std::size_t all_taken_again = 0, ends = 0;
  constexpr std::uint64_t k_one_in = 100;  // is played to its end
  std::optional<std::uint64_t> last_choice;
  const auto add = [&](World world, Step step, int at_depth) {
    const Hash128 hash = hash_of(normalise(world));
    if (!seen.insert(hash).second) return;
    if (hash.one % k_one_in == 0) {
      last_choice = hash.other;
      play_to_end(rules, layout, world, hash.other, [](const std::string&) {});
      last_choice.reset();
      ++ends;
    }
    bool is_again = true;
    for (const Client& client : world.clients)
      is_again = is_again && client.progress == Client::Progress::taken_again;
    all_taken_again += is_again ? 1 : 0;
    steps.push_back(step);
    const auto cost =
        static_cast<std::size_t>(at_depth + k_fault_steps * (options.faults - world.faults));
    if (open.size() <= cost) open.resize(cost + 1);
    open[cost].push_back(
        {std::move(world), static_cast<std::uint32_t>(steps.size() - 1), at_depth});
  };
  add(first_world(layout, options.clients, options.faults), {0, 0}, 0);
  const char* name = name_of(options.kind);
  while (seen.size() < options.states && elapsed() < options.seconds) {
    while (nearest < open.size() && open[nearest].empty()) ++nearest;
    if (nearest == open.size()) break;
    const Open current = std::move(open[nearest].front());
    open[nearest].pop_front();
    depth = std::max(depth, current.depth);
    const auto actions = rules.actions(current.world);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      World next = current.world;
      const Step step{current.id, static_cast<std::uint16_t>(i)};
      try {
        rules.apply(next, actions[i]);
        ++transitions;
        add(std::move(next), step, current.depth + 1);
      } catch (const Violation& violation) {
        std::printf("%s: VIOLATION: %s (%zu states, depth %d, %.1f s)\n", name,
                    violation.what.c_str(), seen.size(), current.depth + 1, elapsed());
        std::fflush(stdout);
        print_path(host, options, steps, current.id, step.action, last_choice);
        return 1;
      }
    }
  }
  std::printf(
      "%s, %d clients: %zu states%s, %llu transitions, %llu script calls, depth %d, %zu played to "
      "the end, %zu states in "
      "which each client has taken, lost and taken it again, %.1f s\n",
      name, options.clients, seen.size(), nearest == open.size() ? " (all)" : "",
      static_cast<unsigned long long>(transitions), static_cast<unsigned long long>(host.calls()),
      depth, ends, all_taken_again, elapsed());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--kind") {
      const auto kind = kind_of(value);
      if (!kind) {
        std::fprintf(stderr, "unknown kind %s\n", value.c_str());
        return 2;
      }
      options.kind = *kind;
    } else if (name == "--permits") {
      options.permits = std::atoi(value.c_str());
    } else if (name == "--clients") {
      options.clients = std::atoi(value.c_str());
    } else if (name == "--states") {
      options.states = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--seconds") {
      options.seconds = std::atof(value.c_str());
    } else if (name == "--faults") {
      options.faults = std::atoi(value.c_str());
    } else if (name == "--lua") {
      options.lua = value;
    } else {
      std::fprintf(stderr, "unknown option %s\n", name.c_str());
      return 2;
    }
  }
  return explore(options);
}
