#include "lock/words/kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rlock::lock {
namespace {

constexpr std::array<std::pair<Kind, std::string_view>, 6> k_kind_names = {
    {{Kind::reentrant, "reentrant"},
     {Kind::fair, "fair"},
     {Kind::simple, "simple"},
     {Kind::read, "read"},
     {Kind::write, "write"},
     {Kind::semaphore, "semaphore"}}};

}  // namespace

std::string kind_name(Kind kind) {
  const auto* const found = std::find_if(k_kind_names.begin(), k_kind_names.end(),
                                         [&](const auto& pair) { return pair.first == kind; });
  return std::string(found->second);
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  names.reserve(k_kind_names.size());
  for (const auto& [kind, name] : k_kind_names) names.emplace_back(name);
  return names;
}

std::optional<Kind> kind_of(std::string_view name) {
  const auto* const found = std::find_if(k_kind_names.begin(), k_kind_names.end(),
                                         [&](const auto& pair) { return pair.second == name; });
  if (found == k_kind_names.end()) return std::nullopt;
  return found->first;
}

}  // namespace rlock::lock
