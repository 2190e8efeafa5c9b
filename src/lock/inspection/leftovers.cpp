#include "lock/inspection/leftovers.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/glob.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

constexpr std::int64_t k_keys_at_once = 1000;
constexpr std::string_view k_latch = "redisson_unlock_latch:";
constexpr std::string_view k_info_prefix = "rlock_info:";
constexpr std::string_view k_braced_info_prefix = "rlock_info_braced:";
constexpr std::string_view k_token_prefix = "redisson_lock_token:";

}  // namespace

std::vector<std::string> latches_of(std::vector<std::string> keys) {
  std::erase_if(keys, [](const std::string& key) { return !key.starts_with(k_latch); });
  return keys;
}

std::vector<Problem> find_leftover_problems(const std::string& name,
                                            const std::vector<std::string>& keys) {
  std::vector<Problem> problems;
  const std::vector<std::string> latches = latches_of(keys);
  if (!latches.empty()) problems.push_back(LeakedLatches{{latches[0], latches.size()}});
  if (latches.size() < keys.size()) problems.push_back(LastingInfo{KeyNames(name).info});
  return problems;
}

std::string lock_of_leftover(const std::string& key) {
  std::string name = key.substr(key.find(':') + 1);
  if (key.starts_with(k_braced_info_prefix)) return name;
  if (key.starts_with(k_latch)) name.resize(std::min(name.rfind(':'), name.size()));
  return is_braced(name) ? name.substr(1, name.size() - 2) : name;
}

Leftovers find_leftovers(redis::Client& client, const std::optional<std::string>& name) {
  std::vector<std::string> walks;  // as find_leftovers.lua has them
  if (name) {
    const KeyNames keys(*name);
    walks = {literal_glob(keys.latch_prefix) + "*", "0", literal_glob(keys.info), "0"};
  } else {
    for (const std::string_view start :
         {k_latch, k_info_prefix, k_braced_info_prefix, k_token_prefix}) {
      walks.insert(walks.end(), {std::string(start) + "*", "0"});
    }
  }
  Leftovers leftovers;
  std::unordered_set<std::string> seen;  // a key may come more than once
  while (true) {
    const redis::Reply reply =
        client.run(lua::find_leftovers::Call{.count = k_keys_at_once, .walks = walks});
    using enum lua::find_leftovers::Part;
    const auto& items = reply.as_array(k_parts);
    for (const redis::Reply& key : items[k_keys].as_array()) {
      const std::string lock = lock_of_leftover(key.as_text());
      // An application's key can start in the same way.
      const KeyNames names(lock);
      if (key.as_text() == names.token) leftovers[lock];  // its snapshot has the problem
      if (key.as_text() != names.info && !key.as_text().starts_with(names.latch_prefix)) continue;
      if (seen.insert(key.as_text()).second) leftovers[lock].push_back(key.as_text());
    }
    bool is_done = true;
    for (std::size_t i = 0; i < walks.size(); i += 2) {
      walks[i + 1] = items[k_cursors].as_array(walks.size() / 2)[i / 2].as_text();
      is_done = is_done && walks[i + 1].empty();
    }
    if (is_done) return leftovers;
  }
}

}  // namespace rlock::lock
