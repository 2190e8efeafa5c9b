// What rlock's side key tells of an owner, beside the lock and never inside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lock/words/kind.hpp"
#include "lock/words/owner.hpp"
#include "lua_limits.hpp"

namespace rlock::lock {

// Times are milliseconds of the server's clock since 1970.
struct OwnerInfo {
  About about;
  std::optional<Kind> kind;              // of the lock, as the owner uses it
  std::optional<std::int64_t> since_ms;  // when it began to hold the lock, or to wait for it
  std::optional<std::int64_t> due_ms;    // of a waiter: by when it will have shown that it lives
  std::optional<std::int64_t> lease_ms;  // of the last request, a grant or a renewal
  std::optional<std::int64_t> token;     // of a holder: the fencing token that it has drawn
};

// Times that others wrote may be anything; between these bounds their differences do not overflow.
inline constexpr std::int64_t k_furthest_ms = lua::k_furthest.count();

// Returns what the side key is to tell of an owner, as JSON; nothing, where there is nothing to
// tell.
[[nodiscard]] std::string to_json(const About& about);

// Returns what `json`, a value of the side key, tells; what makes no sense in it is left out.
[[nodiscard]] OwnerInfo parse_owner_info(const std::string& json);

// Returns whether such a value tells that this hold has ended.
[[nodiscard]] bool tells_of_end(const std::string& json, const std::string& hold_id);

}  // namespace rlock::lock
