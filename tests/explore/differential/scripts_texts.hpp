// Names, numbers and texts for the scripts, most of them as rlock sends them.
#pragma once

#include <cstdint>
#include <string>

#include "explore/differential/inputs.hpp"

namespace rlock::explore {

inline const Words k_owners{
    "11111111-1111-4111-8111-111111111111:1", "22222222-2222-4222-8222-222222222222:7",
    "33333333-3333-4333-8333-333333333333:1", "44444444-4444-4444-8444-444444444444:12"};
inline const Words k_holds{"a1", "b2", "c3"};  // identifiers

// The names of a lock's keys, as lock/key_names.
struct Names {
  explicit Names(const std::string& name) : lock(name) {
    const bool is_braced = name[0] == '{';
    const std::string inner = is_braced ? name : "{" + name + "}";
    channel = "redisson_lock__channel:" + inner;
    read_write_channel = "redisson_rwlock:" + inner;
    semaphore_channel = "redisson_sc:" + inner;
    permits = inner + ":timeout";
    queue = "redisson_lock_queue:" + inner;
    scores = "redisson_lock_timeout:" + inner;
    token = "redisson_lock_token:" + inner;
    info = (is_braced ? "rlock_info_braced:" : "rlock_info:") + inner;
    latch_prefix = "redisson_unlock_latch:" + inner + ":";
    reader_prefix = inner + ":";
  }
  [[nodiscard]] std::string latch(const std::string& hold) const { return latch_prefix + hold; }

  std::string lock, channel, read_write_channel, semaphore_channel, permits, queue, scores, token,
      info, latch_prefix, reader_prefix;
};

[[nodiscard]] Names some_names(Random& r);
[[nodiscard]] std::string number(std::int64_t value);
// A moment near the clock's, in milliseconds.
[[nodiscard]] std::int64_t moment(Random& r);
// Of readers whose holds end together, the first field of the hash would count.
[[nodiscard]] std::string lease(Random& r);
[[nodiscard]] std::string odd_owner(Random& r);
// What is told of an owner.
[[nodiscard]] std::string told_json(Random& r);
[[nodiscard]] std::string called_json(Random& r);
// About to tell, as a client sends it.
[[nodiscard]] std::string sent_json(Random& r);

}  // namespace rlock::explore
