#include "lock/words/hold.hpp"

#include <array>
#include <utility>

#include "base/words.hpp"

namespace rlock::lock {
namespace {

// None is the start of a run of exec, which has hexadecimal digits only.
constexpr std::array<std::pair<Hold::Standing, std::string_view>, 3> k_standings = {
    {{Hold::Standing::granted, "granted"},
     {Hold::Standing::reentered, "reentered"},
     {Hold::Standing::nested, "nested"}}};

constexpr std::array<std::pair<Hold::Side, std::string_view>, 4> k_sides = {
    {{Hold::Side::none, ""},
     {Hold::Side::read, "read"},
     {Hold::Side::write, "write"},
     {Hold::Side::string, "string"}}};

bool is_hold_id(std::string_view text) {
  return text.size() == k_hold_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<Hold> parse_hold(std::string_view run, const std::string& owner) {
  for (const auto& [side, side_name] : k_sides) {
    for (const auto& [standing, standing_name] : k_standings) {
      const std::string start = std::string(side_name) + std::string(standing_name);
      if (!run.starts_with(start) || !is_hold_id(run.substr(start.size()))) continue;
      return Hold{.owner = owner,
                  .id = std::string(run.substr(start.size())),
                  .standing = standing,
                  .side = side};
    }
  }
  return std::nullopt;
}

}  // namespace

Hold::Side side_of(Kind kind) {
  if (kind == Kind::read) return Hold::Side::read;
  if (kind == Kind::simple) return Hold::Side::string;
  return kind == Kind::write ? Hold::Side::write : Hold::Side::none;
}

std::string run_of(const Hold& hold) {
  std::string run;
  for (const auto& [side, name] : k_sides) {
    if (side == hold.side) run += name;
  }
  for (const auto& [standing, name] : k_standings) {
    if (standing == hold.standing) run += name;
  }
  return run + hold.id;
}

std::vector<Hold> holds_among(std::string_view runs, const std::string& owner) {
  std::vector<Hold> holds;
  for (const std::string_view run : split(runs, '/')) {
    if (auto hold = parse_hold(run, owner)) holds.push_back(std::move(*hold));
  }
  return holds;
}

}  // namespace rlock::lock
