#include "lock/words/hold.hpp"

#include <array>
#include <utility>

#include "base/words.hpp"

namespace rlock::lock {
namespace {

// In the order of Hold::Standing. None is the start of a run of exec, which has hexadecimal digits
// only.
constexpr std::array<std::string_view, 3> k_standings{"granted", "reentered", "nested"};

// In the order of Side.
constexpr std::array<std::string_view, 4> k_sides{"", "read", "write", "string"};

// Returns the identifier of a hold that follows `start` in `run`, or nothing.
std::optional<std::string> id_after(std::string_view start, std::string_view run) {
  if (!run.starts_with(start)) return std::nullopt;
  const std::string_view id = run.substr(start.size());
  const bool is_id = id.size() == k_hold_digits &&
                     id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_id ? std::optional<std::string>(id) : std::nullopt;
}

std::optional<Hold> parse_hold(std::string_view run, const std::string& owner) {
  for (std::size_t side = 0; side < k_sides.size(); ++side) {
    for (std::size_t standing = 0; standing < k_standings.size(); ++standing) {
      Hold hold{.standing = static_cast<Hold::Standing>(standing), .side = static_cast<Side>(side)};
      if (auto id = id_after(run_of(hold), run)) {
        hold.owner = owner;
        hold.id = std::move(*id);
        return hold;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string run_of(const Hold& hold) {
  std::string run(k_sides.at(static_cast<std::size_t>(hold.side)));
  return run.append(k_standings.at(static_cast<std::size_t>(hold.standing))) + hold.id;
}

std::vector<Hold> holds_among(std::string_view runs, const std::string& owner) {
  std::vector<Hold> holds;
  for (const std::string_view run : split(runs, '/')) {
    if (auto hold = parse_hold(run, owner)) holds.push_back(std::move(*hold));
  }
  return holds;
}

}  // namespace rlock::lock
