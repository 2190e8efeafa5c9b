// A lock on a store, and clients that send what rlock sends, in any order, with replies that are
// lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explore/lua_host.hpp"
#include "explore/store.hpp"

namespace rlock::explore {

enum class Kind { plain, fair };

constexpr std::int64_t k_lease_ms = 10'000;
constexpr std::int64_t k_timeout_ms = 1'000;
constexpr std::int64_t k_memory_ms = 2 * k_timeout_ms + 60'000 + 30'000;  // as lock/question.hpp
constexpr std::int64_t k_fair_wait_ms = 15'000;
constexpr int k_most_holds = 2;

struct Hold {
  std::string id;
  bool is_reentered = false;
};

// One process of rlock that takes the lock, over and over. A run has an owner of its own.
struct Client {
  enum class Phase { idle, waiting, holding };
  enum class Pending { nothing, acquire, reenter, renew, release };  // whose reply was lost
  enum class Progress { none, taken, lost, taken_again };

  Phase phase = Phase::idle;
  Pending pending = Pending::nothing;
  Progress progress = Progress::none;
  std::string owner;
  std::vector<Hold> holds;
  std::int64_t left_ms = 0;  // of the lease, counted from before the request; below 0: it has ended
  std::int64_t ask_within_ms = 0;  // a waiter's
  int arrival = 0;                 // place in the order in which waiters came; 0: none
  bool has_grant = false;          // whether its reply has arrived or not
  bool is_revoked = false;         // somebody broke its lock
  bool is_late = false;  // it did not ask in time, or was evicted: it has no claim to its place

  // Whether its command runs in the belief that nobody else's does.
  [[nodiscard]] bool believes() const {
    return phase == Phase::holding && left_ms > 0 && !is_revoked;
  }
};

// What can happen next.
struct Action {
  enum class What {
    take,
    ask,
    give_up,
    renew,
    reenter,
    release,
    resend,
    crash,
    force,
    evict,
    pass
  };
  What what;
  int client = -1;
  bool is_lost = false;  // the reply is
  std::string target{};  // of evict
};

struct World {
  Store store;
  std::vector<Client> clients;
  std::int64_t last_token = 0;
  int arrivals = 0;
  bool looked_foreign = false;  // see there
  int faults = 0;               // that may still happen: lost replies, crashes, interference
};

// One script call, as it was sent.
struct Sent {
  std::string script;
  Words keys, args;
};

// Carries out actions, and judges what they did. Throws Violation.
class Rules {
 public:
  Rules(LuaHost& host, Kind kind) : host_(host), kind_(kind) {}

  [[nodiscard]] std::vector<Action> actions(const World& world) const;
  // Returns what was sent, and how long time passed, for those who read.
  std::string apply(World& world, const Action& action);
  // Makes worlds equal that differ in nothing that matters; returns a text of all that matters.
  static std::string normalise(World& world);
  // All scripts that were sent by the last apply.
  [[nodiscard]] const std::vector<Sent>& sent() const { return sent_; }
  [[nodiscard]] std::int64_t passed_ms() const { return passed_ms_; }

 private:
  Reply send(World& world, const std::string& script, const Words& keys, const Words& args,
             bool is_lost);
  void acquire(World& world, Client& client, bool is_lost);
  void reenter(World& world, Client& client, bool is_lost);
  void renew(World& world, Client& client, bool is_lost);
  void release(World& world, Client& client, bool is_lost);
  void granted(World& world, Client& client, const Reply& reply);
  void end(Client& client, bool is_loss) const;
  void force(World& world);
  void evict(World& world, const std::string& owner);
  void pass(World& world);
  void check(const World& world) const;

  LuaHost& host_;
  Kind kind_;
  std::vector<Sent> sent_;
  std::int64_t passed_ms_ = 0;
};

struct Violation {
  std::string what;
};

}  // namespace rlock::explore
