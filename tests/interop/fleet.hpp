// A fleet in which Java services and rlock share locks: what every case of the interop tests has.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "peer.hpp"
#include "support/process.hpp"
#include "support/server.hpp"

namespace rlock::test {

// Leases that no test lives to see the end of.
inline constexpr long k_long_lease_ms = 600'000;
inline constexpr const char* k_long_lease = "10m";

// Who takes a lock and keeps it until release().
class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  // Without waiting. Throws std::runtime_error when it will never have it.
  virtual bool has_it() = 0;
  // Throws std::runtime_error when it was not its own to give back.
  virtual void release() = 0;
  // True as soon as it has the lock, false when bound (ms) passes.
  bool gets_it(std::chrono::milliseconds bound = std::chrono::seconds(60));
};

// A thread that calls lock(): with a lease, or with -1 under Redisson's watchdog.
class JavaClient : public Client {
 public:
  JavaClient(Peer& peer, Lock lock, long lease_ms = k_long_lease_ms);
  bool has_it() override;
  void release() override;
  JavaThread& thread() { return thread_; }

 private:
  Lock lock_;
  JavaThread thread_;
  JavaCall call_;
};

// An rlock exec that runs a command until its input ends.
class RlockClient : public Client {
 public:
  RlockClient(const Server& server, const Lock& lock,
              const std::vector<std::string>& options = {"--lease", k_long_lease})
      : RlockClient(server.unix_url(), lock, options) {}
  RlockClient(const std::string& url, const Lock& lock,
              const std::vector<std::string>& options = {"--lease", k_long_lease});
  bool has_it() override;
  void release() override;
  Process& process() { return process_; }

 private:
  Process process_;
};

// Sees how often the lease of a lock has been extended.
class Renewals {
 public:
  Renewals(const Server& server, const Lock& lock) : server_(server), name_(lock.name) {}
  // Looks again. Throws std::runtime_error when nobody holds the lock.
  int count();

 private:
  const Server& server_;
  std::string name_;
  long ttl_ = k_long_lease_ms;
  int count_ = 0;
};

enum class Side { java, rlock };
std::string side_name(Side side);

// The fixture. Server and JVM are shared by the cases of a run; a case that leaves a mess, which is
// an error, gets the next one new ones.
class Fleet {
 public:
  Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  // Checks that nothing is left: no key, no waiter, no request.
  ~Fleet();

 protected:
  [[nodiscard]] static Server& server();
  [[nodiscard]] static Peer& java();

  // An rlock was killed: what it told of itself may stay until it expires.
  void expect_remains() { remains_ = true; }

  // One who wants the lock from now on, with a long lease.
  static std::unique_ptr<Client> client(Side side, const Lock& lock);

  // Who stands behind a waiter of Java that no message wakes, where that is an old one (before
  // 3.32): if it looks a millisecond before the lock becomes free to it, it then sleeps until
  // somebody tells it. nullptr where there is no need.
  static std::unique_ptr<Client> prompter(const Lock& lock);

  // rlock COMMAND with this server and kind, to its end.
  static Result rlock(const Lock& lock, const std::string& command,
                      const std::vector<std::string>& options = {});
  // The exit status of an attempt by rlock to run a command at once.
  static int rlock_try(const Lock& lock);
  // The same by Java: "true" (and then gives the lock back) or "false".
  static std::string java_try(const Lock& lock);
  static nlohmann::json inspect(const Lock& lock);

  // True as soon as so many wait: in the queue, or, for a plain lock, on its channel, where each
  // JVM counts once. Those of a read/write lock sleep then: before, Java's message of a writer is
  // lost for them.
  static bool come_to_wait(const Lock& lock, long count = 1);
  // The queue of a fair lock: its waiters' owners, and that of their deadlines.
  static std::vector<std::string> queue(const Lock& lock);
  static std::vector<std::string> deadlines(const Lock& lock);

 private:
  [[nodiscard]] std::string leftovers() const;

  bool remains_ = false;
};

// All get the lock and give it back, one at a time, in any order.
void take_turns(std::vector<Client*> clients);

// Has the test case run once for each kind of lock. A case that calls it has no other SUBCASE.
Lock lock_of_each_kind();

// argv of rlock exec for this lock; behind it come "--" and the command.
std::vector<std::string> exec_argv(const std::string& url, const Lock& lock,
                                   const std::vector<std::string>& options);

}  // namespace rlock::test
