// Calls of scripts for the lock "job", as a run with no wishes sends them: a test changes what it
// is about.
#pragma once

#include <string>

#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::test {

inline const lock::KeyNames k_job("job");

// `id`: of the hold.
inline lua::acquire::Call acquire_call(const std::string& owner, const std::string& id) {
  return {.lock = k_job.lock,
          .info = k_job.info,
          .latch = k_job.latch(id),
          .queue = k_job.queue,
          .token = std::nullopt,
          .lease = Milliseconds(30'000),
          .owner = owner,
          .about_json = "",
          .fencing = "off",
          .restart_delay = std::nullopt,
          .channel = std::nullopt,
          .taken = ""};
}

inline lua::acquire_simple::Call acquire_simple_call(const std::string& owner,
                                                     const std::string& id) {
  return {.lock = k_job.lock,
          .info = k_job.info,
          .latch = k_job.latch(id),
          .token = std::nullopt,
          .lease = Milliseconds(30'000),
          .owner = owner,
          .about_json = "",
          .fencing = "off",
          .restart_delay = std::nullopt,
          .permits = k_job.permits,
          .channel = std::nullopt,
          .taken = ""};
}

inline lua::reenter::Call reenter_call(const std::string& owner, const std::string& id) {
  return {.lock = k_job.lock,
          .latch = k_job.latch(id),
          .info = k_job.info,
          .token = std::nullopt,
          .lease = Milliseconds(30'000),
          .owner = owner,
          .memory = Milliseconds(30'000),
          .fencing = "off"};
}

inline lua::release::Call release_call(const std::string& owner, const std::string& id) {
  return {.lock = k_job.lock,
          .channel = k_job.channel,
          .info = k_job.info,
          .latch = k_job.latch(id),
          .queue = k_job.queue,
          .scores = k_job.scores,
          .owner = owner,
          .memory = Milliseconds(30'000),
          .keep = Milliseconds(0),
          .wait = Milliseconds(0),
          .standing = "granted",
          .wakes = true,
          .is_shared = false};
}

}  // namespace rlock::test
