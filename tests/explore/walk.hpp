// Long ways at random, for what needs more steps than all ways can be gone.
#pragma once

#include <random>

#include "explore/search.hpp"

namespace rlock::explore {

// Goes up to `walks` ways of `steps` steps, for `seconds` at most. A way's number is its
// seed. Returns the first violation, or nothing. For `game` see search().
template <typename World, typename Game>
std::optional<Found> walk(Game& game, std::uint64_t walks, int steps, double seconds,
                          Extent& extent) {
  const Stopwatch time;
  for (std::uint64_t number = 0; number < walks && time.seconds() < seconds; ++number) {
    std::mt19937_64 random(number);
    World world = game.first();
    std::vector<std::uint16_t> path;
    std::optional<std::uint64_t> choice;
    try {
      for (int step = 0; step < steps; ++step) {
        const auto actions = game.actions(world);
        path.push_back(static_cast<std::uint16_t>(random() % actions.size()));
        game.apply(world, actions[path.back()]);
        (void)game.text_of(world);  // moments become distances from now
        game.count(world);
        ++extent.states;
        ++extent.transitions;
      }
      choice = random();
      game.play_to_end(world, *choice);
      ++extent.ends;
    } catch (const Violation& violation) {
      const int depth = static_cast<int>(path.size());
      return Found{violation.what, std::move(path), choice, depth};
    }
    extent.depth = steps;
  }
  return std::nullopt;
}

}  // namespace rlock::explore
