#include "lock/words/kind.hpp"

#include <algorithm>
#include <array>

namespace rlock::lock {
namespace {

// In the order of Kind.
constexpr std::array<std::string_view, 6> k_kind_names{"reentrant", "fair",  "simple",
                                                       "read",      "write", "semaphore"};

}  // namespace

std::string kind_name(Kind kind) {
  return std::string(k_kind_names.at(static_cast<std::size_t>(kind)));
}

std::vector<std::string> kind_names() { return {k_kind_names.begin(), k_kind_names.end()}; }

std::optional<Kind> kind_of(std::string_view name) {
  const auto* const found = std::ranges::find(k_kind_names, name);
  if (found == k_kind_names.end()) return std::nullopt;
  return static_cast<Kind>(found - k_kind_names.begin());
}

}  // namespace rlock::lock
