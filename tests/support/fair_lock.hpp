// The fair lock "job" as others than rlock see it: its keys, and a peer that locks as Redisson
// does.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "resp.hpp"
#include "server.hpp"

namespace rlock::test {

inline const std::string k_queue = "redisson_lock_queue:{job}";
inline const std::string k_scores = "redisson_lock_timeout:{job}";
inline const std::string k_info = "rlock_info:{job}";
inline const std::string k_channel = "redisson_lock__channel:{job}";

// The owners in the queue, the next one first.
std::vector<std::string> queue(const Server& server);
// Their processes, where they are rlock's: the number behind the last colon.
std::vector<pid_t> queued_pids(const Server& server);
// Waits until the queue has this length.
bool comes_to_queue(const Server& server, std::size_t length);

// The server's clock, and how far ahead of it an owner's deadline is; -1 without one. Milliseconds.
long long server_time(const Server& server);
long long deadline_ahead(const Server& server, const std::string& owner);

// Makes rlock's waiter look as if it had not shown its life in time: as after kill -9, without the
// time that it takes to be sure.
void make_overdue(const Server& server, const std::string& owner);

// As if the waiter that was called had had so much more time to come.
void date_back_call(const Server& server, std::chrono::milliseconds by);

// Requests so far: scripts run by their SHA1, which is how rlock sends each.
long script_calls(const Server& server);

// The lock is held by "other:1", for so long.
void hold_by_other(const Server& server,
                   std::chrono::milliseconds lease = std::chrono::minutes(10));

// Whoever waits gets the lock: it is deleted, and the head of the queue is called.
void let_go(const Server& server);

// argv of rlock exec --fair OPTIONS job -- COMMAND.
std::vector<std::string> fair_argv(const Server& server, const std::vector<std::string>& options,
                                   const std::vector<std::string>& command);

// One thread of a service that uses Redisson's fair lock "job", by the service's own clock.
class Peer {
 public:
  static constexpr std::chrono::milliseconds k_wait{300'000};

  Peer(const Server& server, std::string owner, std::chrono::milliseconds clock_skew = {},
       std::chrono::milliseconds wait = k_wait)
      : server_(server), owner_(std::move(owner)), skew_(clock_skew), wait_(wait) {}

  [[nodiscard]] const std::string& owner() const { return owner_; }
  [[nodiscard]] std::chrono::milliseconds wait() const { return wait_; }
  // Takes the lock, or queues for it. Drops whoever is at the head with a deadline that has passed.
  bool acquire(std::chrono::milliseconds lease = std::chrono::seconds(30));
  // Gives the lock back and calls the head of the queue.
  void unlock();
  // Leaves the queue, as after tryLock()'s time.
  void leave();
  // Subscribes to its channel, as a thread that waits does.
  void listen();
  // How many messages have come since then.
  std::size_t messages();

 private:
  std::string run(const std::string& script, const std::vector<std::string>& args);

  const Server& server_;
  std::string owner_;
  std::chrono::milliseconds skew_;
  std::chrono::milliseconds wait_;
  std::unique_ptr<RespClient> listener_;
  std::size_t messages_ = 0, pings_ = 0;
};

}  // namespace rlock::test
