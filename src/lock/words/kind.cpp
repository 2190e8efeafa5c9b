#include "lock/words/kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rlock::lock {
namespace {

using Name = std::pair<Kind, std::string_view>;

constexpr std::array<Name, 6> k_kind_names = {{{Kind::reentrant, "reentrant"},
                                               {Kind::fair, "fair"},
                                               {Kind::simple, "simple"},
                                               {Kind::read, "read"},
                                               {Kind::write, "write"},
                                               {Kind::semaphore, "semaphore"}}};

}  // namespace

std::string kind_name(Kind kind) {
  const auto* const found = std::ranges::find(k_kind_names, kind, &Name::first);
  return std::string(found->second);
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  names.reserve(k_kind_names.size());
  for (const auto& [kind, name] : k_kind_names) names.emplace_back(name);
  return names;
}

std::optional<Kind> kind_of(std::string_view name) {
  const auto* const found = std::ranges::find(k_kind_names, name, &Name::second);
  if (found == k_kind_names.end()) return std::nullopt;
  return found->first;
}

}  // namespace rlock::lock
