// A lock on a store, and clients that send what rlock sends, in any order, with replies that are
// lost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explore/layout.hpp"
#include "explore/lua_host.hpp"
#include "explore/store.hpp"

namespace rlock::explore {

constexpr std::size_t k_most_holds = 2;

// One process of rlock that takes the lock, over and over. A run has an owner of its own.
struct Client {
  enum class Phase { idle, waiting, holding };
  enum class Pending { nothing, acquire, reenter, renew, release };  // whose reply was lost
  enum class Progress { none, taken, lost, taken_again };

  Phase phase = Phase::idle;
  Pending pending = Pending::nothing;
  int pending_hold = 0;  // of which hold
  std::int64_t pending_keep_ms = 0;
  Progress progress = Progress::none;
  std::string owner;
  std::vector<Hold> holds;
  std::int64_t left_ms = 0;  // of the lease, counted from before the request; below 0: it has ended
  std::int64_t ask_within_ms = 0;  // a waiter's
  int arrival = 0;                 // place in the order in which waiters came; 0: none
  bool has_grant = false;          // whether its reply has arrived or not
  bool is_revoked = false;         // somebody broke its lock
  bool is_redisson = false;
  bool is_poor = false;     // its user lacks a right, see Layout
  bool is_acquire = false;  // its holds are known to other processes, as those of rlock acquire
  bool is_late = false;     // it did not ask in time, or was evicted: it has no claim to its place
  bool can_be_dropped = false;  // by a Redisson client whose clock is ahead of all deadlines

  // Whether its command runs in the belief that nobody else's does.
  [[nodiscard]] bool believes() const {
    return phase == Phase::holding && left_ms > 0 && !is_revoked;
  }
  // Whether it was told that it has to wait, and has subscribed.
  [[nodiscard]] bool listens() const { return phase == Phase::waiting && ask_within_ms != 0; }
  [[nodiscard]] bool writes() const;
  // Whether this hold is to be there: not where a release is under way.
  [[nodiscard]] bool counts_on(int hold) const {
    return pending != Pending::release || pending_hold != hold;
  }
};

[[nodiscard]] Hold& hold_of(Client& client, int hold);
// Its run is over.
void end(Client& client, bool is_loss);
// A request of this hold's has got no answer.
void await(Client& client, Client::Pending what, int hold);

// What becomes of a request: its reply arrives, or is lost, or it is itself under way for longer
// than its client waits; or the server is out of memory.
enum class Fate { answered, lost, late, starved };

// A request that its client has given up on, and that may arrive all the same.
struct Flight {
  Sent sent;                                        // without a script: there is none
  Client::Pending what = Client::Pending::nothing;  // nothing: of a person, not of a client
  std::string run{};                                // see run_of
  std::string owner{};
  Hold hold{};
  std::int64_t left_ms = 0;  // within which it arrives, or never
  std::int64_t keep_ms = 0;  // of a release
  bool was_queued = false;
  bool is_over = false;   // its hold was given back since
  bool is_ended = false;  // and all others of its run

  [[nodiscard]] bool is_there() const { return !sent.script.empty(); }
};

// A lock that stays after a release, or after the last one of its owner (--at-least).
struct Kept {
  std::string owner;
  bool writes = false;
  bool is_counted = false;     // nobody gives it back any more
  bool is_sure = true;         // the lock did not end in the very millisecond
  bool was_reentered = false;  // and may have a lease that another hold had
  std::int64_t left_ms = 0;

  auto operator<=>(const Kept&) const = default;
};

// What can happen next.
struct Action {
  enum class What {
    take,
    ask,
    join,
    give_up,
    renew,
    reenter,
    release,
    unlock,
    resend,
    crash,
    force,
    evict,
    repair,
    persist,
    set_back,
    arrive,
    pass
  };
  What what;
  int client = -1;
  Fate fate = Fate::answered;
  int hold = 0;              // which one, of renew and release
  bool writes = false;       // of take and reenter
  std::int64_t keep_ms = 0;  // of release
  std::string target{};      // of evict and persist, and whom it joins
};

// Whether it may have --at-least, as rlock exec.
[[nodiscard]] bool keeps(const Client& client);
// How many faults it counts as. Keeping a lock is none, but is to happen seldom, too.
[[nodiscard]] int faults_of(const Action& action);

struct World {
  Store store;
  std::vector<Client> clients;
  std::vector<Flight> flights;      // one of each client, and one of a person
  std::vector<Kept> kept;           // one of each owner and side
  std::vector<std::string> unsure;  // owners of whose processes one has crashed
  std::int64_t last_token = 0;
  int arrivals = 0;
  bool looked_foreign = false;  // see there
  bool was_set_back = false;    // the server's clock
  bool lost_end = false;        // a key of it has lost its expiry, and others may have none for it
  int faults = 0;  // that may still happen: lost replies, late requests, crashes, interference
};

// Whether nested runs are processes of their own, and both clients are of one family.
[[nodiscard]] bool are_kin(const Layout& layout, const Client& one, const Client& other);
// Whether no other process is of this family.
[[nodiscard]] bool is_alone(const Layout& layout, const World& world, const Client& client);
// Whether no process of this owner has crashed: so its holds can be counted.
[[nodiscard]] bool is_sure_of(const World& world, const std::string& owner);
// Owners whose lock another process may try to re-enter.
[[nodiscard]] std::vector<std::string> families(const World& world);

[[nodiscard]] World first_world(const Layout& layout, int clients, int faults);

// Carries out actions, and judges what they did. Throws Violation.
class Rules {
 public:
  Rules(LuaHost& host, const Layout& layout) : host_(host), layout_(layout) {}

  [[nodiscard]] std::vector<Action> actions(const World& world) const;
  // Returns what was done, for those who read.
  std::string apply(World& world, const Action& action);
  // All scripts that were sent by the last apply.
  [[nodiscard]] const std::vector<Sent>& sent() const { return sent_; }
  [[nodiscard]] std::int64_t passed_ms() const { return passed_ms_; }

 private:
  void add(const World& world, Action action, std::vector<Action>& all) const;
  // Adds what this client can do next.
  void add_of_client(const World& world, int i, std::vector<Action>& all) const;
  Reply send(World& world, const Sent& sent, bool is_lost);
  // The same of a client's request; the reply may be an error.
  Reply request(World& world, const Client& client, const Sent& sent, Fate fate);
  // A client is told that its request has failed.
  void refused(World& world, Client& client, Client::Pending what, int hold);
  // Does what the client of an action does.
  void act(World& world, Client& client, const Action& action);
  void take(World& world, Client& client, bool writes);
  void acquire(World& world, Client& client, Fate fate);
  void reenter(World& world, Client& client, int hold, Fate fate);
  void take_anew(World& world, Client& client, const Reply& reply);
  void join(World& world, Client& client, const std::string& family, bool writes, Fate fate);
  void unlock(World& world, Client& client);
  void revoke_nested(World& world, const Flight& release) const;
  void lose_count(World& world, const Client& client) const;
  void forget_families(World& world) const;
  void renew(World& world, Client& client, int hold, Fate fate);
  void give_up(World& world, Client& client, Fate fate);
  void release(World& world, Client& client, int hold, Fate fate, std::int64_t keep_ms = 0);
  void resend(World& world, Client& client);
  void force(World& world, Fate fate);
  void evict(World& world, const std::string& owner, Fate fate);
  void repair(World& world);
  static void persist(World& world, const std::string& key);
  void check_renewed(const World& world, const Client& client, const Hold& hold) const;
  void forced(World& world, const Sent& sent);
  void evicted(World& world, const Sent& sent);
  // A request of this hold's is on its way, for longer than the client waits.
  void depart(World& world, Client& client, Client::Pending what, int hold, const Sent& sent);
  void arrive(World& world, int flight);
  // Has the server forget a request that was answered, with all those before it.
  static void forget(World& world, const Hold& hold);

  // Throws a Violation if the request has another effect without its script's fast path (see
  // slow_paths) than it had: `before` is the store before it, `world` has the store after it.
  void check_slow_path(const World& world, const Sent& sent, const Reply& reply, Store before);

  // Which run of a client something belongs to: its owner, where that is its own.
  [[nodiscard]] std::string run_of(const Client& client) const;
  void give_back(World& world, const Client& client, const Hold& hold) const;

  LuaHost& host_;
  Layout layout_;
  std::vector<Sent> sent_;
  std::int64_t passed_ms_ = 0;
};

}  // namespace rlock::explore
