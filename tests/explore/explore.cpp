// Explores every order in which clients, lost replies and time can act on a lock: breadth first, so
// that what it finds is as short as can be. See tests/explore/run.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <string>
#include <unordered_set>
#include <vector>

#include "explore/moments.hpp"
#include "explore/promises.hpp"
#include "explore/world.hpp"

using namespace rlock::explore;

namespace {

struct Hash128 {
  std::uint64_t one, other;
  bool operator==(const Hash128&) const = default;
};

struct Hasher {
  std::size_t operator()(const Hash128& hash) const { return hash.one; }
};

Hash128 hash_of(const std::string& text) {
  Hash128 hash{0x9e3779b97f4a7c15ULL, 0xc2b2ae3d27d4eb4fULL};
  for (const unsigned char byte : text) {
    hash.one = (hash.one ^ byte) * 0x100000001b3ULL;
    hash.other = (hash.other + byte + 1) * 0x9fb21c651e98df25ULL;
    hash.other ^= hash.other >> 29;
  }
  return hash;
}

struct Step {
  std::uint32_t from;
  std::uint16_t action;
};

struct Options {
  Kind kind = Kind::plain;
  int clients = 2;
  int permits = 1;
  std::size_t states = 1'000'000;
  double seconds = 600;
  int faults = 3;
  std::string lua;
};

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// Prints how to get there, as a script for redis-cli: $LUA is a folder with the scripts as they are
// sent.
void print_path(LuaHost& host, const Options& options, const std::vector<Step>& steps,
                std::uint32_t at, std::uint16_t last) {
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
      text = "=> " + violation.what + "\n" + normalise(world);
      for (std::size_t line = 0; (line = text.find('\n', line)) != std::string::npos; line += 3)
        text.replace(line, 1, "\n#   ");
    }
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
  }
  std::cout.flush();
}

int explore(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  LuaHost host(options.lua);
  const Layout layout(options.kind, options.permits);
  Rules rules(host, layout);
  std::unordered_set<Hash128, Hasher> seen;
  std::vector<Step> steps;
  struct Open {
    World world;
    std::uint32_t id;
    int depth;
  };
  std::deque<Open> open;
  std::uint64_t transitions = 0;
  int depth = 0;
  std::size_t all_taken_again = 0;
  const auto add = [&](World world, Step step, int at_depth) {
    const std::string text = normalise(world);
    if (!seen.insert(hash_of(text)).second) return;
    bool is_again = true;
    for (const Client& client : world.clients)
      is_again = is_again && client.progress == Client::Progress::taken_again;
    all_taken_again += is_again ? 1 : 0;
    steps.push_back(step);
    open.push_back({std::move(world), static_cast<std::uint32_t>(steps.size() - 1), at_depth});
  };
  add(first_world(layout, options.clients, options.faults), {0, 0}, 0);
  const char* name = name_of(options.kind);
  while (!open.empty() && seen.size() < options.states && elapsed() < options.seconds) {
    const Open current = std::move(open.front());
    open.pop_front();
    depth = current.depth;
    const auto actions = rules.actions(current.world);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      World next = current.world;
      const Step step{current.id, static_cast<std::uint16_t>(i)};
      try {
        rules.apply(next, actions[i]);
      } catch (const Violation& violation) {
        std::printf("%s: VIOLATION: %s (%zu states, depth %d, %.1f s)\n", name,
                    violation.what.c_str(), seen.size(), depth + 1, elapsed());
        std::fflush(stdout);
        print_path(host, options, steps, current.id, step.action);
        return 1;
      }
      ++transitions;
      add(std::move(next), step, current.depth + 1);
    }
  }
  std::printf(
      "%s, %d clients: %zu states%s, %llu transitions, %llu script calls, depth %d, %zu states in "
      "which each client has taken, lost and taken it again, %.1f s\n",
      name, options.clients, seen.size(), open.empty() ? " (all)" : "",
      static_cast<unsigned long long>(transitions), static_cast<unsigned long long>(host.calls()),
      depth, all_taken_again, elapsed());
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
