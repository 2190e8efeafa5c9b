// Three servers, and clients that keep a lock on a majority of them, as src/lock/kinds/quorum.cpp
// does: every message to a server is a step of its own, and its answer may be lost.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "explore/quorum_server.hpp"
#include "explore/search.hpp"
#include "lock/servers/tally.hpp"

namespace rlock::explore::quorum {

// Bugs of the clients, to see that they are found. Those of the scripts are planted in a copy of
// lua/.
struct Bugs {
  bool majority_of_half = false;
  bool votes_kept = false;         // of an attempt without a majority
  bool lease_from_answer = false;  // the last one's
  bool renewal_from_answer = false;
  bool renewed_by_one = false;          // one server is enough to renew the lease
  bool owner_kept = false;              // by all attempts of a client
  bool doubt_forgotten = false;         // who has not answered has given no vote
  bool latch_dropped = false;           // also where a request may still be under way
  bool late_majority_believed = false;  // although the lease has ended meanwhile

  // Returns whether there is such a bug, and plants it.
  bool plant(const std::string& name);
};

// What a node's thread has to do for its client, one after the other.
struct Job {
  // Of a renewal: it waits for this answer; has been confirmed by a majority; is of no interest.
  enum class Round { open, confirmed, over };

  What what = What::take;
  Name name = 0;
  bool is_sent = false;  // and carried out, but its answer was lost
  Round round = Round::over;
  std::int64_t bound_ms = 0;  // of renew and restore: within which it makes sense
  // Of give_back:
  bool wakes = false;
  bool may_hold = false;
  bool is_in_doubt = false;  // a request has got no answer
};

enum class Vote { none, yes, no, failed };

// As QuorumLock::Member.
struct Member {
  bool may_hold = false;
  bool is_in_doubt = false;
  Vote vote = Vote::none;     // of the attempt
  Vote renewed = Vote::none;  // of the renewal that is under way
};

// One process of rlock that takes the lock, over and over.
struct Client {
  enum class Phase { idle, asking, holding };

  Phase phase = Phase::idle;
  Name name = 0;             // of the attempt; each has its own
  std::int64_t left_ms = 0;  // of the lease, counted from before the first request
  bool is_renewing = false;
  std::int64_t renewal_left_ms = 0;  // of the lease that a renewal asks for
  std::array<Member, k_servers> members;
  std::array<std::vector<Job>, k_servers> jobs;  // also of earlier attempts

  [[nodiscard]] bool believes() const { return phase == Phase::holding && left_ms > 0; }
};

// A request that its client has given up on, and that may arrive all the same.
struct Flight {
  std::size_t server = 0;
  Request request;
  std::int64_t left_ms = 0;  // within which it arrives, or never
  bool is_over = false;      // the server has been asked to take this vote back since
};

struct World {
  std::array<const Server*, k_servers> servers{};
  std::vector<Client> clients;
  std::vector<Flight> flights;
  // Votes that nobody could take back: their clients have crashed, or have given up on the server.
  std::array<std::vector<Name>, k_servers> excused;
  int restarts = 0;
  int faults = 0;  // that may still happen
};

struct Action {
  enum class Kind {
    start,
    give_up,
    renew,
    release,
    crash,
    answered,
    lost,
    late,
    unreached,
    fail,
    skip,
    restart,
    arrive,
    pass
  };
  Kind kind;
  int client = -1;
  std::size_t server = 0;  // of arrive: which flight
};

// What happened, for those who want to see that everything was reached.
struct Counts {
  std::uint64_t grants = 0, splits = 0, late_majorities = 0, renewals = 0, losses = 0;
  std::uint64_t restored = 0, votes_refused = 0, restarts_of_majority = 0;
};

// Carries out actions, and judges what they did. Throws Violation.
class Rules {
 public:
  Rules(Servers& servers, const Bugs& bugs) : servers_(servers), bugs_(bugs) {}

  [[nodiscard]] World first_world(int clients, int faults);
  [[nodiscard]] std::vector<Action> actions(const World& world) const;
  // Returns what was done, for those who read.
  std::string apply(World& world, const Action& action);
  // What was sent to which server by the last apply.
  [[nodiscard]] const std::vector<std::pair<std::size_t, Request>>& sent() const { return sent_; }
  [[nodiscard]] std::int64_t passed_ms() const { return passed_ms_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  using Place = std::pair<int, std::size_t>;  // a client's node for a server

  [[nodiscard]] std::size_t needed() const;
  const Reply& send(World& world, std::size_t server, const Request& request);
  // Does what the client of an action does, and returns what that was.
  std::string act(World& world, const Action& action);
  void start(World& world, Client& client);
  void start_renewal(Client& client);
  void end_attempt(Client& client, bool is_release);
  void crash(World& world, Client& client);
  std::string answer(World& world, Place place);
  void lose(World& world, Place place);
  void leave_late(World& world, Place place);
  void fail(World& world, Place place);
  void arrive(World& world, std::size_t flight);
  void restart(World& world, std::size_t server);
  void pass(World& world);
  void decide(Client& client);
  void decide_renewal(Client& client);
  void settle(World& world);

  Servers& servers_;
  Bugs bugs_;
  Counts counts_;
  std::vector<std::pair<std::size_t, Request>> sent_;
  std::int64_t passed_ms_ = 0;
};

// Whether nobody wants anything.
[[nodiscard]] bool is_quiet(const World& world);

// What must hold in every world. Throws Violation.
void check(const World& world);

// Has all clients give up, release or crash, and late requests arrive, in an order that `choice`
// says, and lets time pass. Then nothing may be left on any server, and a new client gets all
// votes. Calls `told` after each step, with what was done. Throws Violation.
void play_to_end(Rules& rules, World world, std::uint64_t choice,
                 const std::function<void(const std::string&)>& told);

// Returns a text that worlds have in common which differ in nothing that matters: which server is
// which, which client, and what names there are.
[[nodiscard]] std::string text_of(const World& world);

}  // namespace rlock::explore::quorum
