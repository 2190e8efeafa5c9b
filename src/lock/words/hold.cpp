#include "lock/words/hold.hpp"

#include <array>
#include <utility>

#include "base/words.hpp"

namespace rlock::lock {
namespace {

// None is the start of a run of exec, which has hexadecimal digits only.
constexpr auto k_standings = std::to_array<std::pair<Hold::Standing, std::string_view>>(
    {{Hold::Standing::granted, "granted"},
     {Hold::Standing::reentered, "reentered"},
     {Hold::Standing::nested, "nested"}});

constexpr auto k_sides =
    std::to_array<std::pair<Hold::Side, std::string_view>>({{Hold::Side::none, ""},
                                                            {Hold::Side::read, "read"},
                                                            {Hold::Side::write, "write"},
                                                            {Hold::Side::string, "string"},
                                                            {Hold::Side::value, "value"}});

// In front of the identifier of a hold that a run of exec gives back itself.
constexpr std::string_view k_shared = "shared";

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

// Returns the identifier of the hold of a value that this run has, and that runs below it share.
std::optional<std::string> id_to_share(std::string_view run) {
  if (run.starts_with(k_shared) && is_hold_id(run.substr(k_shared.size()))) {
    return std::string(run.substr(k_shared.size()));
  }
  const auto hold = parse_hold(run, "");
  const bool is_first =
      hold && hold->side == Hold::Side::value && hold->standing == Hold::Standing::granted;
  return is_first ? std::optional(hold->id) : std::nullopt;
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

std::string shared_run(const Hold& hold) {
  const bool is_shared = hold.side == Hold::Side::value && hold.outer.empty();
  return is_shared ? "/" + std::string(k_shared) + hold.id : "";
}

std::string shared_hold(std::string_view runs) {
  std::string found;
  for (const std::string_view run : split(runs, '/')) {
    if (const auto id = id_to_share(run)) found = *id;
  }
  return found;
}

std::vector<Hold> holds_among(std::string_view runs, const std::string& owner) {
  std::vector<Hold> holds;
  std::string outer;
  for (const std::string_view run : split(runs, '/')) {
    if (const auto id = id_to_share(run)) outer = *id;
    auto hold = parse_hold(run, owner);
    if (!hold) continue;
    if (hold->side == Hold::Side::value && hold->standing == Hold::Standing::nested) {
      hold->outer = outer;
    }
    holds.push_back(std::move(*hold));
  }
  return holds;
}

}  // namespace rlock::lock
