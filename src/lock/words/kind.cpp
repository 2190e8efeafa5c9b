#include "lock/words/kind.hpp"

#include <algorithm>
#include <array>

namespace rlock::lock {
namespace {

// The table of kinds, in the order of Kind.
constexpr auto k_kinds = std::to_array<KindTraits>({
    {.kind = Kind::reentrant, .name = "reentrant"},
    {.kind = Kind::fair,
     .name = "fair",
     .queues = true,
     .holder_listens = false,  // each waiter has its own channel
     .needs_one_server = true},
    {.kind = Kind::simple, .name = "simple", .shape = Shape::string, .side = Side::string},
    {.kind = Kind::read,
     .name = "read",
     .shape = Shape::sides,
     .side = Side::read,
     .is_shared = true,
     .needs_one_server = true,
     .has_tokens = false},  // the next reader's would outdate one while both hold the lock
    {.kind = Kind::write,
     .name = "write",
     .shape = Shape::sides,
     .side = Side::write,
     .is_shared = true,
     .needs_one_server = true},
    {.kind = Kind::semaphore,
     .name = "semaphore",
     .shape = Shape::permits,
     .is_shared = true,
     .holder_listens = false,  // a semaphore to which somebody listens stays for a day
     .needs_one_server = true,
     .has_tokens = false},  // the newest would shut out the other holders
});
static_assert(std::ranges::all_of(k_kinds, [](const KindTraits& row) {
  return &row == &k_kinds[static_cast<std::size_t>(row.kind)];
}));

template <class Value, class Member>
std::optional<Kind> find_kind(const Value& value, Member member) {
  const auto* const found = std::ranges::find(k_kinds, value, member);
  return found == k_kinds.end() ? std::nullopt : std::optional(found->kind);
}

}  // namespace

const KindTraits& traits_of(Kind kind) { return k_kinds.at(static_cast<std::size_t>(kind)); }

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  names.reserve(k_kinds.size());
  for (const KindTraits& row : k_kinds) names.emplace_back(row.name);
  return names;
}

std::optional<Kind> kind_of(std::string_view name) { return find_kind(name, &KindTraits::name); }

std::optional<Kind> kind_of(Side side) {
  if (side == Side::none) return std::nullopt;
  return find_kind(side, &KindTraits::side);
}

}  // namespace rlock::lock
