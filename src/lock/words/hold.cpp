#include "lock/words/hold.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rlock::lock {
namespace {

// None is the start of a run of exec, which has hexadecimal digits only.
constexpr std::array<std::pair<Hold::Kind, std::string_view>, 3> k_names = {
    {{Hold::Kind::granted, "granted"},
     {Hold::Kind::reentered, "reentered"},
     {Hold::Kind::nested, "nested"}}};

constexpr std::array<std::pair<Hold::Side, std::string_view>, 3> k_sides = {
    {{Hold::Side::none, ""}, {Hold::Side::read, "read"}, {Hold::Side::write, "write"}}};

bool is_hold_id(std::string_view text) {
  return text.size() == k_hold_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<Hold> parse_hold(std::string_view run) {
  for (const auto& [side, side_name] : k_sides) {
    for (const auto& [kind, kind_name] : k_names) {
      const std::string start = std::string(side_name) + std::string(kind_name);
      if (!run.starts_with(start) || !is_hold_id(run.substr(start.size()))) continue;
      return Hold{kind, std::string(run.substr(start.size())), {}, side};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string run_of(const Hold& hold) {
  std::string run;
  for (const auto& [side, name] : k_sides) {
    if (side == hold.side) run += name;
  }
  for (const auto& [kind, name] : k_names) {
    if (kind == hold.kind) run += name;
  }
  return run + hold.id;
}

std::vector<std::string_view> split_runs(std::string_view runs) {
  std::vector<std::string_view> all;
  while (!runs.empty()) {
    const std::size_t end = std::min(runs.find('/'), runs.size());
    all.push_back(runs.substr(0, end));
    runs.remove_prefix(std::min(end + 1, runs.size()));
  }
  return all;
}

std::vector<Hold> holds_among(std::string_view runs) {
  std::vector<Hold> holds;
  for (const std::string_view run : split_runs(runs)) {
    if (auto hold = parse_hold(run)) holds.push_back(std::move(*hold));
  }
  return holds;
}

}  // namespace rlock::lock
