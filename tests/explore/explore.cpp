// Explores every order in which clients, lost replies and time can act on a lock: nearest first, so
// that what it finds is short. See tests/explore/run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "explore/ending.hpp"
#include "explore/moments.hpp"
#include "explore/promises.hpp"
#include "explore/search.hpp"
#include "explore/walk.hpp"
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
  bool has_families = false, lacks_memory = false, loses_ends = false, is_set_back = false,
       draws_tokens = true, is_calm = false;
  std::string lacks;
  std::int64_t skew_ms = 0;
  std::uint64_t walks = 0;
  std::string lua, slow;
};

Layout layout_of(const Options& options) {
  Layout layout(options.kind, options.permits, options.has_families);
  layout.lacks_memory = options.lacks_memory;
  layout.loses_ends = options.loses_ends;
  layout.is_set_back = options.is_set_back;
  layout.draws_tokens = options.draws_tokens;
  layout.is_calm = options.is_calm;
  layout.lacks = options.lacks;
  layout.skew_ms = options.skew_ms;
  return layout;
}

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
// they are sent (cmake/ExpandLua.cmake), and the folder redisson.
void print_path(LuaHost& host, const Options& options, const Found& found) {
  const Layout layout = layout_of(options);
  Rules rules(host, layout);
  World world = first_world(layout, options.clients, options.faults);
  std::cout << "#!/bin/sh\n# Moments are those of a server; names of owners and holds are short.\n";
  if (options.kind == Kind::service) std::cout << "redis-cli set L " << options.permits << "\n";
  for (const std::uint16_t number : found.path) {
    const Action action = rules.actions(world).at(number);
    std::string text;
    try {
      text = rules.apply(world, action);
      normalise(world);
    } catch (const Violation& violation) {
      text = told_of(violation, world);
    }
    print_step(rules, text);
  }
  if (!found.choice) return;
  std::cout << "# Everything comes to an end:\n";
  try {
    play_to_end(rules, layout, world, *found.choice,
                [&](const std::string& text) { print_step(rules, text); });
  } catch (const Violation& violation) {
    print_step(rules, "=> " + violation.what);
  }
}

// A fault counts as several steps: so what needs few faults is looked at to a greater depth.
struct Game {
  static constexpr int k_fault_steps = 3;

  const Options& options;
  const Layout& layout;
  Rules rules;
  std::size_t taken_again = 0;  // worlds in which each client has taken, lost and taken it again

  [[nodiscard]] World first() const { return first_world(layout, options.clients, options.faults); }
  [[nodiscard]] auto actions(const World& world) const { return rules.actions(world); }
  void apply(World& world, const Action& action) { rules.apply(world, action); }
  static std::size_t length(const Action& /*action*/, const World& before, const World& after) {
    return static_cast<std::size_t>(1 + k_fault_steps * (before.faults - after.faults));
  }
  static std::string text_of(World& world) { return normalise(world); }
  void play_to_end(const World& world, std::uint64_t choice) {
    rlock::explore::play_to_end(rules, layout, world, choice, [](const std::string&) {});
  }
  void count(const World& world) {
    const bool is_again = std::all_of(
        world.clients.begin(), world.clients.end(),
        [](const Client& client) { return client.progress == Client::Progress::taken_again; });
    taken_again += is_again ? 1 : 0;
  }
};

int explore_all(const Options& options) {
  const Stopwatch time;
  LuaHost host(options.lua);
  if (is_mixed(options.kind)) host.add(RLOCK_EXPLORE_REDISSON);
  if (!options.slow.empty()) host.add(options.slow);
  const Layout layout = layout_of(options);
  Game game{options, layout, Rules(host, layout)};
  Extent extent;
  constexpr int k_walk_steps = 60;
  const auto found = options.walks > 0
                         ? walk<World>(game, options.walks, k_walk_steps, options.seconds, extent)
                         : search<World>(game, options.states, options.seconds, extent);
  const char* name = name_of(options.kind);
  if (found) {
    std::printf("%s: VIOLATION: %s (%zu states, depth %d, %.1f s)\n", name, found->what.c_str(),
                extent.states, found->depth, time.seconds());
    std::fflush(stdout);
    print_path(host, options, *found);
    return 1;
  }
  std::printf(
      "%s%s%s, %d clients: %zu states%s, %llu transitions, %llu script calls, depth %d, %zu played "
      "to "
      "the end, %zu states in which each client has taken, lost and taken it again, %.1f s\n",
      name, options.has_families ? " of families" : "",
      options.draws_tokens ? "" : " without tokens", options.clients, extent.states,
      extent.are_all ? " (all)" : "", static_cast<unsigned long long>(extent.transitions),
      static_cast<unsigned long long>(host.calls()), extent.depth, extent.ends, game.taken_again,
      time.seconds());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
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
    } else if (name == "--family") {
      options.has_families = true;
      --i;  // it has no value
    } else if (name == "--unfenced") {
      options.draws_tokens = false;
      --i;
    } else if (name == "--no-memory") {
      options.lacks_memory = true;
      --i;
    } else if (name == "--set-back") {
      options.is_set_back = true;
      --i;
    } else if (name == "--persist") {
      options.loses_ends = true;
      --i;
    } else if (name == "--calm") {
      options.is_calm = true;
      --i;
    } else if (name == "--without") {
      options.lacks = value;
    } else if (name == "--walks") {
      options.walks = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--skew") {
      options.skew_ms = std::atoll(value.c_str());
    } else if (name == "--lua") {
      options.lua = value;
    } else if (name == "--slow") {
      options.slow = value;
    } else {
      std::fprintf(stderr, "unknown option %s\n", name.c_str());
      return 2;
    }
  }
  return explore_all(options);
}
