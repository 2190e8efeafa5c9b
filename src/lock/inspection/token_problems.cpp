#include "lock/inspection/token_problems.hpp"

namespace rlock::lock {

void find_token_problems(Snapshot& snapshot, const std::string& key,
                         const std::optional<std::string>& value, std::int64_t ttl_ms) {
  constexpr std::int64_t k_no_key = -2;
  if (!value && ttl_ms != k_no_key) return;  // a key of the wrong kind
  if (value && !snapshot.token) {
    snapshot.problems.push_back(BadToken{key});
    return;
  }
  if (ttl_ms >= 0) snapshot.problems.push_back(TokenExpires{key, Milliseconds(ttl_ms)});
  const std::int64_t highest = snapshot.token.value_or(0);
  for (const Holder& holder : snapshot.holders) {
    if (!holder.token || *holder.token <= highest) continue;
    snapshot.problems.push_back(TokenBehind{highest, holder.owner, *holder.token});
  }
}

}  // namespace rlock::lock
