// What the model and the server are given: random, and the same for the same seed.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "explore/store.hpp"

namespace rlock::explore {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t end) { return engine_() % end; }
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::size_t>(last - first) + 1));
  }
  bool chance(std::size_t percent) { return below(100) < percent; }
  template <typename List>
  const auto& pick(const List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
  }

 private:
  std::mt19937_64 engine_;
};

struct Step {
  // code: a piece of Lua; pass: as Store's; advance: so, too
  enum class What { command, script, code, pass, advance };
  What what = What::command;
  std::string name;  // of the command or script, or what the code tests
  Words keys{};      // of a script or code
  Words words{};     // the whole command; arguments of a script or code
  std::string code{};
  std::int64_t ms = 0;  // that pass
};

struct History {
  Words listened, listened_in_shard;  // channels
  std::vector<Step> steps;
};

// All commands that can be among the steps.
[[nodiscard]] Words known_commands();

// A number as texts give it: whole ones, and whatever could be taken for one.
[[nodiscard]] std::string odd_number(Random& random);
[[nodiscard]] std::string odd_text(Random& random);

// JSON, as a rule.
[[nodiscard]] std::string odd_json(Random& random);
// A random command, as a text of words.
[[nodiscard]] Words random_command(Random& random);

[[nodiscard]] History random_commands(Random& random);
[[nodiscard]] History random_codes(Random& random);
[[nodiscard]] History random_scripts(Random& random);

}  // namespace rlock::explore
