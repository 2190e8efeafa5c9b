// Shows that the model of Redis (store, lua_host) answers as a server does: random commands, pieces
// of Lua and whole scripts, on both. The server's clock stands still where the model's does, so
// that all that depends on time is the same to the millisecond.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <regex>
#include <signal.h>
#include <stdexcept>
#include <string>

#include "explore/differential/bench.hpp"

using namespace rlock::explore;

namespace {

std::atomic<bool> is_interrupted = false;

struct Options {
  std::uint64_t seed = std::random_device()();
  double seconds = 60;
  std::string server = "redis-server";
};

void print(const char* what, const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  std::cout << what << ": " << sum << " of " << counts.size() << " sorts:";
  for (const auto& [name, count] : counts) std::cout << " " << name << " " << count;
  std::cout << "\n";
}

// Every command that a script names is one that is compared by itself, too. Of INFO, a piece of Lua
// looks at what the scripts look at.
void check_commands(const LuaHost& host) {
  const Words known = known_commands();
  const std::regex call("redis\\.p?call\\('([a-z]+)'|, '(zadd|rpush|lpop|rpop)', ");
  for (const auto& [name, text] : host.texts()) {
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
      const std::string command = (*at)[1].matched ? (*at)[1] : (*at)[2];
      if (command != "info" && std::find(known.begin(), known.end(), command) == known.end())
        throw std::runtime_error(name + " uses " + command + ", which is never compared");
    }
  }
}

int compare(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  Server server(options.server);
  LuaHost host;
  check_commands(host);
  Bench bench(server, host);
  std::cout << "seed " << options.seed << "\n" << std::flush;
  using Make = History (*)(Random&);
  const Make makers[] = {random_commands, random_commands, random_commands, random_codes,
                         random_scripts,  random_scripts,  random_scripts,  random_scripts};
  for (std::uint64_t round = 0; elapsed() < options.seconds && !is_interrupted; ++round) {
    // Each round has a seed of its own, made of this one.
    Random random(options.seed * 1'000'003 + round);
    const History history = makers[round % std::size(makers)](random);
    auto difference = bench.run(history);
    if (!difference) continue;
    const History shortest = bench.shorten(history, *difference);
    std::cout << to_shell(shortest) << "# => seed " << options.seed << ", round " << round << ": "
              << difference->what << "\n";
    return 1;
  }
  const Counts& counts = bench.counts();
  for (const auto& [name, text] : host.texts()) {
    if (!counts.scripts.contains(name) && !is_interrupted) {
      throw std::runtime_error(name +
                               " was never called: scripts.cpp has no call of it, or there was too "
                               "little time");
    }
  }
  print("commands", counts.commands);
  print("pieces of Lua", counts.codes);
  for (const auto& [name, answers] : counts.scripts) print(("script " + name).c_str(), answers);
  std::cout << "compared: " << counts.replies << " replies, " << counts.stores << " stores, "
            << counts.messages << " messages, in " << static_cast<int>(elapsed()) << " s\n";
  return is_interrupted ? 130 : 0;
}

[[noreturn]] void usage() {
  std::cerr << "usage: rlock_explore_differential [--seed N] [--seconds N] [--server PROGRAM]\n";
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) usage();
    const char* value = argv[i + 1];
    if (name == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--seconds") {
      options.seconds = std::strtod(value, nullptr);
    } else if (name == "--server") {
      options.server = value;
    } else {
      usage();
    }
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    signal(number, [](int) { is_interrupted = true; });
  }
  try {
    return compare(options);
  } catch (const std::exception& error) {
    std::cerr << "rlock_explore_differential: " << error.what() << "\n";
    return 1;
  }
}
