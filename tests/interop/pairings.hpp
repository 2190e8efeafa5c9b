// Handing a lock over between Java and rlock where more than one server keeps locks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fleet.hpp"
#include "support/wait_until.hpp"

namespace rlock::test {

// A service whose thread can fail while it waits, when its connection is lost, and tries again.
class JavaService : public Client {
 public:
  JavaService(Peer& peer, Lock lock) : peer_(peer), lock_(std::move(lock)) { start(); }
  bool has_it() override {
    try {
      return thread_->has_it();
    } catch (const std::runtime_error& error) {
      if (!std::string(error.what()).starts_with("lock() ended with error ")) throw;
      start();
      return false;
    }
  }
  void release() override { thread_->release(); }

 private:
  void start() { thread_ = std::make_unique<JavaClient>(peer_, lock_); }

  Peer& peer_;
  Lock lock_;
  std::unique_ptr<JavaClient> thread_;
};

// Java and rlock at the same servers.
struct Pair {
  Peer& java;
  std::string url;
  std::string rlock_lease = k_long_lease;

  // One who wants the lock from now on.
  [[nodiscard]] std::unique_ptr<Client> client(Side side, const Lock& lock) const {
    if (side == Side::java) return std::make_unique<JavaService>(java, lock);
    return std::make_unique<RlockClient>(url, lock,
                                         std::vector<std::string>{"--lease", rlock_lease});
  }

  [[nodiscard]] bool is_excluded(Side side, const Lock& lock) const {
    if (side == Side::java) return JavaThread(java).call("tryLock", lock) == "false";
    std::vector<std::string> argv = exec_argv(url, lock, {"-n"});
    argv.insert(argv.end(), {"--", "true"});
    return run(argv).status == 75;
  }

  // Java has found the server that keeps the lock now.
  [[nodiscard]] bool java_can_write(const Lock& lock) const {
    JavaThread thread(java);
    const Lock probe{"plain", "{" + lock.name + "}:probe"};
    return thread.call("tryLock", probe, {0, 1000}) == "true" &&
           thread.call("unlock", probe) == "true";
  }
};

// Tells whether somebody waits for the lock at this moment, as the servers see it.
using IsAwaited = std::function<bool(const Lock&)>;

// Waits until the servers see that the waiter waits. A thread of Java may fail until then, and is
// started again when it is asked.
inline bool waits(Client& waiter, const Lock& lock, const IsAwaited& is_awaited) {
  return wait_until([&] { return !waiter.has_it() && is_awaited(lock); });
}

// In every pairing of sides and kinds: one holds the lock and another waits for it, something
// happens, and the one still excludes the others and hands it over.
inline void check_handovers(
    const Pair& pair, const std::function<std::string()>& new_name, const IsAwaited& is_awaited,
    const std::function<void(const Lock&, Side waiting, Client& waiter)>& happens) {
  for (const char* kind : {"plain", "fair"}) {
    for (const auto& [holding, waiting] :
         {std::pair{Side::java, Side::rlock}, std::pair{Side::rlock, Side::java}}) {
      const Lock lock{kind, new_name()};
      const std::string holder_name = holding == Side::java ? "Java" : "rlock";
      CAPTURE(lock.kind);
      CAPTURE(holder_name);
      const std::unique_ptr<Client> holder = pair.client(holding, lock);
      REQUIRE(holder->gets_it());
      const std::unique_ptr<Client> waiter = pair.client(waiting, lock);
      REQUIRE(waits(*waiter, lock, is_awaited));
      happens(lock, waiting, *waiter);
      // Java may need a while to find the server, and fails until then.
      REQUIRE(wait_until([&] { return pair.java_can_write(lock); }));
      CHECK(pair.is_excluded(Side::java, lock));
      CHECK(pair.is_excluded(Side::rlock, lock));
      CHECK_FALSE(waiter->has_it());
      // A thread of Java that fails leaves its place in the queue, which Redisson would keep for
      // minutes.
      std::unique_ptr<Client> sweeper;
      if (lock.kind == "fair" && waiting == Side::java) sweeper = pair.client(Side::rlock, lock);
      holder->release();
      take_turns(sweeper ? std::vector{waiter.get(), sweeper.get()} : std::vector{waiter.get()});
    }
  }
}

}  // namespace rlock::test
