#include "lock/inspection/token_problems.hpp"

#include "base/duration.hpp"
#include "base/shell_quote.hpp"

namespace rlock::lock {

void find_token_problems(Snapshot& snapshot, const std::string& key,
                         const std::optional<std::string>& value, std::int64_t ttl_ms) {
  constexpr std::int64_t k_no_key = -2;
  if (!value && ttl_ms != k_no_key) return;  // a key of the wrong kind
  const auto redis_cli = [&](const std::string& command) {
    return "redis-cli " + command + " " + shell_quote(key);
  };
  if (value && !snapshot.token) {
    snapshot.problems.push_back(
        {"bad_token", key + " is not a number: the lock cannot be taken with a fencing token",
         redis_cli("DEL") + "  # tokens then go on from the server's clock"});
    return;
  }
  if (ttl_ms >= 0) {
    snapshot.problems.push_back({"token_expires",
                                 "the counter of fencing tokens ends in " +
                                     format_duration(Milliseconds(ttl_ms)) +
                                     ": it should never end",
                                 redis_cli("PERSIST")});
  }
  const std::int64_t highest = snapshot.token.value_or(0);
  for (const Holder& holder : snapshot.holders) {
    if (!holder.token || *holder.token <= highest) continue;
    const std::string token = std::to_string(*holder.token);
    snapshot.problems.push_back({"token_behind",
                                 "the counter of fencing tokens, " + std::to_string(highest) +
                                     ", is behind the token of the holder " + holder.owner + ", " +
                                     token + ": an older one can pass for the highest",
                                 "rlock fence " + shell_operands({snapshot.name}) + " " + token});
  }
}

}  // namespace rlock::lock
