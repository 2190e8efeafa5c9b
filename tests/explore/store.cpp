#include "explore/store.hpp"

#include <algorithm>
#include <cstdio>

#include "explore/store_commands.hpp"

namespace rlock::explore {
namespace {

commands::Commands all_commands() {
  commands::Commands all;
  for (const auto* some :
       {&commands::key_commands(), &commands::string_commands(), &commands::hash_commands(),
        &commands::list_commands(), &commands::zset_commands()}) {
    all.insert(some->begin(), some->end());
  }
  return all;
}

}  // namespace

std::string format_score(double score) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", score);
  return text;
}

// What ends now is still there, with nothing left of its time, as on a server.
void Store::advance(std::int64_t ms) {
  now_ms += ms;
  for (auto it = keys.begin(); it != keys.end();) {
    const std::int64_t end_ms = it->second.end_ms;
    it = end_ms != 0 && end_ms < now_ms ? keys.erase(it) : std::next(it);
  }
}

void Store::pass(std::int64_t ms) {
  advance(ms);
  now_ms -= ms;
  for (auto& [name, value] : keys) {
    if (value.end_ms != 0) value.end_ms -= ms;
  }
}

std::optional<std::int64_t> Store::next_expiry() const {
  std::optional<std::int64_t> next;
  for (const auto& [name, value] : keys) {
    if (value.end_ms == 0) continue;
    const std::int64_t left = std::max<std::int64_t>(value.end_ms - now_ms, 1);
    next = std::min(next.value_or(left), left);
  }
  return next;
}

Reply Store::run(const Words& words) {
  static const commands::Commands all = all_commands();
  const auto found = all.find(commands::lower(words[0]));
  if (found == all.end()) commands::refuse(words);
  const commands::Command& command = found->second;
  const auto count = static_cast<int>(words.size());
  if (command.count < 0 ? count < -command.count : count != command.count)
    return Reply::error("ERR Wrong number of args calling Redis command from script");
  return command.run(*this, words);
}

}  // namespace rlock::explore
