#include "lock/inspection/lock_scan.hpp"

#include <algorithm>
#include <utility>

#include "base/glob.hpp"
#include "lua_scripts.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

// About how many keys one step looks at.
constexpr std::int64_t k_keys_a_step = 100;

}  // namespace

LockScan::LockScan(redis::Client& client, LockPatterns patterns)
    : client_(client), patterns_(std::move(patterns)) {}

std::vector<std::string> LockScan::next() {
  const redis::Reply reply = client_.run(lua::find_locks::Call{.count = k_keys_a_step,
                                                               .pattern = patterns_.names,
                                                               .simple = patterns_.simple,
                                                               .counts = patterns_.counts_alike,
                                                               .cursors = cursors_});
  using enum lua::find_locks::Part;
  const std::vector<redis::Reply>& items = reply.as_array(k_parts);

  // A restart changes the order of the keys. The cursors would then skip some.
  const auto run = items[k_run].as_optional_text();
  if (steps_ > 0 && run != run_) {
    throw redis::Unavailable(client_.options().endpoint.display() +
                             ": restarted while it was searched");
  }
  run_ = run;
  cursors_.clear();
  is_done_ = true;
  for (const redis::Reply& cursor : items[k_cursors].as_array()) {
    cursors_.push_back(cursor.as_text());
    is_done_ = is_done_ && cursors_.back().empty();
  }
  ++steps_;
  unread_ += items[k_unread].as_integer();
  if (!items[k_total].is_nil()) total_ = items[k_total].as_integer();

  for (const redis::Reply& name : items[k_alike].as_array()) {
    if (alike_.size() < k_most_alike) alike_.insert(name.as_text());
  }
  if (!items[k_replication].is_nil()) {
    replication_ = replication_of(parse_info(items[k_replication].as_text()));
  }
  if (!items[k_keyspace].is_nil()) {
    others_ = databases_of(parse_info(items[k_keyspace].as_text()));
  }

  std::vector<std::string> found;
  const auto add = [&](const std::string& name) {
    if (seen_.insert(name).second) found.push_back(name);
  };
  for (const redis::Reply& name : items[k_matching].as_array()) add(name.as_text());
  for (const redis::Reply& name : items[k_beside].as_array()) {
    if (matches_glob(patterns_.names, name.as_text())) add(name.as_text());
  }
  return found;
}

// rlock's own are found by their side keys.
std::size_t LockScan::alike() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      alike_, [this](const std::string& name) { return !seen_.contains(name); }));
}

std::int64_t LockScan::looked_at() const noexcept {
  const std::int64_t keys = steps_ * k_keys_a_step;
  return total_ ? std::min(keys, *total_) : keys;
}

}  // namespace rlock::lock
