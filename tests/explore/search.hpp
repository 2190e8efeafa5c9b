// What every exploration needs: the search through all worlds that differ, nearest first, and words
// for a shell.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rlock::explore {

// A promise that was broken.
struct Violation {
  std::string what;
};

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Of a text that tells all that matters of a world. That two worlds have the same is next to
// impossible.
struct Hash128 {
  std::uint64_t one, other;
  bool operator==(const Hash128&) const = default;
};

struct Hasher {
  std::size_t operator()(const Hash128& hash) const { return hash.one; }
};

[[nodiscard]] inline Hash128 hash_of(const std::string& text) {
  Hash128 hash{0x9e3779b97f4a7c15ULL, 0xc2b2ae3d27d4eb4fULL};
  for (const unsigned char byte : text) {
    hash.one = (hash.one ^ byte) * 0x100000001b3ULL;
    hash.other = (hash.other + byte + 1) * 0x9fb21c651e98df25ULL;
    hash.other ^= hash.other >> 29;
  }
  return hash;
}

// How far a search has come.
struct Extent {
  std::size_t states = 0;
  std::size_t ends = 0;  // states that were played to their end
  std::uint64_t transitions = 0;
  int depth = 0;
  bool are_all = false;  // there is no other state
};

// The way to a violation: the numbers of the actions, the last of which led to it; or, with
// `choice`, to the world whose end did.
struct Found {
  std::string what;
  std::vector<std::uint16_t> path;
  std::optional<std::uint64_t> choice;
  int depth;
};

// Goes nearest first through all worlds that can be reached, up to `states` of them or for so many
// seconds. Returns the first violation, or nothing. A Game has
//   World first();                          where it begins
//   actions(const World&)                   what can happen next, as a vector
//   apply(World&, action)                   throws Violation
//   length(action, before, after)           how long a step makes the way: what counts less is
//                                           looked at to a greater depth
//   std::string text_of(World&)             the same for worlds that differ in nothing that matters
//   play_to_end(const World&, choice)       throws Violation; asked of one world in a hundred
//   count(const World&)                     called once for each world
template <typename World, typename Game>
std::optional<Found> search(Game& game, std::size_t states, double seconds, Extent& extent) {
  constexpr std::uint64_t k_one_in = 100;
  struct Step {
    std::uint32_t from;  // the number of the world before
    std::uint16_t action;
  };
  struct Open {
    World world;
    std::uint32_t id;
    int depth;
    std::size_t way;
  };
  const Stopwatch time;
  std::unordered_set<Hash128, Hasher> seen;
  std::vector<Step> steps;
  std::vector<std::deque<Open>> open;  // by the length of the way to them
  std::size_t nearest = 0;
  std::optional<std::uint64_t> choice;
  const auto add = [&](World world, Step step, int depth, std::size_t way) {
    const Hash128 hash = hash_of(game.text_of(world));
    if (!seen.insert(hash).second) return;
    ++extent.states;
    if (hash.one % k_one_in == 0) {
      choice = hash.other;
      game.play_to_end(world, hash.other);
      choice.reset();
      ++extent.ends;
    }
    game.count(world);
    steps.push_back(step);
    if (open.size() <= way) open.resize(way + 1);
    open[way].push_back(
        {std::move(world), static_cast<std::uint32_t>(steps.size() - 1), depth, way});
  };
  try {
    add(game.first(), {0, 0}, 0, 0);
  } catch (const Violation& violation) {
    return Found{violation.what, {}, choice, 0};
  }
  while (extent.states < states && time.seconds() < seconds) {
    while (nearest < open.size() && open[nearest].empty()) ++nearest;
    extent.are_all = nearest == open.size();
    if (extent.are_all) break;
    const Open current = std::move(open[nearest].front());
    open[nearest].pop_front();
    extent.depth = std::max(extent.depth, current.depth);
    const auto actions = game.actions(current.world);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      World next = current.world;
      const Step step{current.id, static_cast<std::uint16_t>(i)};
      try {
        game.apply(next, actions[i]);
        ++extent.transitions;
        const std::size_t way = current.way + game.length(actions[i], current.world, next);
        add(std::move(next), step, current.depth + 1, way);
      } catch (const Violation& violation) {
        Found found{violation.what, {step.action}, choice, current.depth + 1};
        for (std::uint32_t at = current.id; at != 0; at = steps[at].from)
          found.path.push_back(steps[at].action);
        std::reverse(found.path.begin(), found.path.end());
        return found;
      }
    }
  }
  return std::nullopt;
}

// Returns a word as a shell reads it.
[[nodiscard]] inline std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace rlock::explore
