// A Redisson client in a JVM of its own (peer/src/main/java/Peer.java).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/process.hpp"
#include "support/words.hpp"

namespace rlock::test {

// A lock as Redisson names it.
struct Lock {
  // "plain": getLock, "fair": getFairLock, "fenced": getFencedLock, "read" and "write":
  // getReadWriteLock, "semaphore": getPermitExpirableSemaphore, "multi": getMultiLock of the plain
  // locks that the name tells, with commas
  std::string kind;
  std::string name;

  // What Redisson keeps beside the lock's hash.
  [[nodiscard]] std::string channel() const {
    if (kind == "semaphore") return prefixed("redisson_sc");
    const bool is_half = kind == "read" || kind == "write";
    return prefixed(is_half ? "redisson_rwlock" : "redisson_lock__channel");
  }
  [[nodiscard]] std::string queue() const { return prefixed("redisson_lock_queue"); }
  [[nodiscard]] std::string deadlines() const { return prefixed("redisson_lock_timeout"); }
  [[nodiscard]] std::string token() const { return prefixed("redisson_lock_token"); }

 private:
  [[nodiscard]] std::string prefixed(const std::string& prefix) const {
    return prefix + ":" + (has(name, "{") ? name : "{" + name + "}");
  }
};

struct PeerOptions {
  std::chrono::milliseconds watchdog{30'000};    // lockWatchdogTimeout
  std::chrono::milliseconds fair_wait{300'000};  // fairLockWaitTimeout, since Redisson 3.46
  EnvChanges env{};                              // of the JVM
};

// One instance of Redisson. The jars to use are in the environment, RLOCK_TEST_PEER_CLASSPATH.
class Peer {
 public:
  // Waits until it is connected to `address`. Throws std::runtime_error with its output when it
  // does not come up within 60 s.
  explicit Peer(const std::string& address, const PeerOptions& options = {});

  // The first part of its owners' names.
  [[nodiscard]] const std::string& uuid() const { return uuid_; }

  // True for a Redisson that has fairLockWaitTimeout: 3.46 or newer.
  [[nodiscard]] bool has_fair_wait() const { return has_fair_wait_; }

  // Sends a request for a thread and returns its number.
  int send(const std::string& thread, const std::vector<std::string>& words);
  // Returns the answer to a request if it is there: the value, or "error CLASS MESSAGE". Throws
  // std::runtime_error when the JVM has ended.
  std::optional<std::string> answer(int request);
  // True while a request has no answer.
  [[nodiscard]] bool busy();
  // True if all threads whose requests have no answer wait for a message, or for a time.
  [[nodiscard]] bool all_asleep();

  // kill -9: nothing is tidied up.
  void kill();

 private:
  void read_answers();

  Process process_;
  std::string uuid_;
  bool has_fair_wait_ = false;
  int sent_ = 0;
  std::size_t read_ = 0;  // how much of the output has been taken apart
  std::map<int, std::string> answers_{};
};

// A request that a Java thread works on.
class JavaCall {
 public:
  JavaCall(Peer& peer, int request) : peer_(&peer), request_(request) {}

  // Without waiting.
  [[nodiscard]] bool done() { return peer_->answer(request_).has_value(); }
  // Waits for the answer; see Peer::answer. Throws std::runtime_error when bound (ms) passes.
  std::string answer(std::chrono::milliseconds bound = std::chrono::seconds(60));

 private:
  Peer* peer_;
  int request_;
};

// A thread of a peer that nobody has used yet: an owner of locks.
class JavaThread {
 public:
  explicit JavaThread(Peer& peer);

  // Starts a method of RLock: start("tryLock", lock, {wait_ms, lease_ms}); a lease of -1 is kept up
  // by the watchdog.
  JavaCall start(const std::string& method, const Lock& lock,
                 const std::vector<long>& numbers = {});
  // Starts it and waits for the answer.
  std::string call(const std::string& method, const Lock& lock,
                   const std::vector<long>& numbers = {});
  // The field that it has in a lock's hash.
  std::string owner();
  // Adds 1 to a number in Redis `times` times, each time as a holder of the lock reads and writes.
  JavaCall count(const Lock& lock, const std::string& key, int times);
  void interrupt();

 private:
  Peer* peer_;
  std::string name_;
};

// True for the answer of a thread that unlocks what it does not hold.
bool is_refusal(std::string_view answer);

}  // namespace rlock::test
