// A model of fencing tokens over several servers, where an adversary decides what happens next.
//
// The protocol: ask all servers for the lock; each that grants it says which token it would draw.
// With a majority of grants, take the highest of these tokens, and raise the counters of those
// servers to it, where the lock is still ours. With a majority of raised counters, before the lease
// has ended, the token may be shown to the world. Any two majorities share a server, on which the
// later grant saw a counter that knew the earlier token.
//
// The model has servers with a lock and a counter, clients, and messages under way. In each step of
// a schedule one of them moves, chosen at random. Messages overtake each other, are lost, or come
// twice; clients die and servers restart between any two steps.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace rlock::test {

using Time = std::int64_t;
using Token = std::int64_t;

inline constexpr std::size_t k_most_nodes = 5;
inline constexpr std::size_t k_clients = 3;
inline constexpr std::uint64_t k_nobody = 0;

// What can happen, and what the protocol does about it.
struct Rules {
  bool raises = true;           // the second step
  bool asks_for_owner = true;   // of the second step
  bool minds_lease = true;      // no token is shown after its end
  bool delays_restart = true;   // a server that forgot its locks grants none for a lease
  bool draws_at_once = false;   // a grant raises the counter; else it only says what it would draw
  bool keeps_counters = true;   // a server that restarts
  bool draws_by_clock = false;  // a token is no lower than the server's clock
  bool breaks_locks = false;    // somebody does, by force
};

struct Node {
  std::uint64_t owner = k_nobody;
  Time expires = 0;
  Token counter = 0;
  Token drawn = 0;  // by the owner
  Time silent_until = 0;
  Time skew = 0;  // of its clock
};

struct Message {
  enum class Kind { acquire, raise, release, granted, raised };
  Kind kind;
  std::size_t client;
  std::size_t node;
  std::uint64_t owner;
  Token token;
};

struct Client {
  enum class Phase { idle, acquiring, raising, holding };
  Phase phase = Phase::idle;
  std::uint64_t owner = k_nobody;  // a new one for each attempt
  Time asked = 0;
  Token token = 0;
  std::array<Token, k_most_nodes> granted{};  // 0: not
  std::array<Token, k_most_nodes> raised{};
};

class Random {
 public:
  std::uint64_t below(std::uint64_t limit) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_ % limit;
  }
  bool chance(std::uint64_t percent) { return below(100) < percent; }

 private:
  std::uint64_t state_ = 20'261'121;
};

class Schedule {
 public:
  Schedule(std::size_t nodes, const Rules& rules, Random& random)
      : rules_(rules),
        random_(random),
        nodes_(nodes),
        clients_(k_clients),
        steps_(60 * static_cast<int>(nodes)),
        lease_(20 * static_cast<Time>(nodes)) {
    for (Node& node : nodes_)
      node.skew = static_cast<Time>(random_.below(static_cast<std::uint64_t>(lease_) / 4));
    loss_ = random_.below(12);
    restarts_ = random_.below(4);
    messages_.reserve(200);
  }

  // Returns the tokens in the order in which they were shown.
  const std::vector<Token>& run() {
    for (int step = 0; step < steps_; ++step) {
      now_ += random_.chance(1)
                  ? static_cast<Time>(1 + random_.below(static_cast<std::uint64_t>(lease_)))
                  : 1;
      if (random_.chance(restarts_)) {
        disturb(nodes_[random_.below(nodes_.size())]);
      } else if (!messages_.empty() && !random_.chance(20)) {
        move_message();
      } else {
        move(random_.below(clients_.size()));
      }
    }
    return shown_;
  }

 private:
  using Kind = Message::Kind;
  using Phase = Client::Phase;

  // How long a server is down does not matter: messages to it are lost anyway.
  void disturb(Node& node) {
    if (rules_.breaks_locks) node.owner = k_nobody;
    if (rules_.breaks_locks || (rules_.keeps_counters && random_.chance(30))) return;
    node.owner = k_nobody;
    if (!rules_.keeps_counters) node.counter = 0;
    if (rules_.delays_restart) node.silent_until = now_ + lease_;
  }

  void send(Kind kind, std::size_t client, std::size_t node, Token token = 0) {
    messages_.push_back({kind, client, node, clients_[client].owner, token});
  }

  void move_message() {
    std::swap(messages_[random_.below(messages_.size())], messages_.back());
    const Message message = messages_.back();
    if (!random_.chance(3)) messages_.pop_back();  // else it comes twice
    if (random_.chance(loss_)) return;
    if (message.kind == Kind::granted || message.kind == Kind::raised) {
      Client& client = clients_[message.client];
      if (client.owner != message.owner) return;
      (message.kind == Kind::granted ? client.granted : client.raised)[message.node] =
          message.token;
    } else {
      serve(nodes_[message.node], message);
    }
  }

  void serve(Node& node, const Message& message) {
    const bool is_held = node.owner != k_nobody && now_ < node.expires;
    const bool holds = is_held && node.owner == message.owner;
    const auto answer = [&](Kind kind, Token token) {
      messages_.push_back({kind, message.client, message.node, message.owner, token});
    };
    if (message.kind == Kind::acquire) {
      if (now_ < node.silent_until || (is_held && !holds)) return;
      if (!holds) {
        const Token clock = rules_.draws_by_clock ? now_ + node.skew : 0;
        node.drawn = std::max(node.counter + 1, clock);
        if (rules_.draws_at_once) node.counter = node.drawn;
        node.owner = message.owner;
        node.expires = now_ + lease_;
      }
      answer(Kind::granted, node.drawn);
    } else if (message.kind == Kind::raise) {
      if (!holds && rules_.asks_for_owner) return;
      node.counter = std::max(node.counter, message.token);
      answer(Kind::raised, message.token);
    } else if (holds) {
      node.owner = k_nobody;
    }
  }

  [[nodiscard]] bool is_majority(const std::array<Token, k_most_nodes>& answers) const {
    const auto none = static_cast<std::size_t>(std::count(answers.begin(), answers.end(), 0));
    return k_most_nodes - none > nodes_.size() / 2;
  }

  void move(std::size_t which) {
    Client& client = clients_[which];
    if (client.phase == Phase::idle) return start(which);
    if (random_.chance(3)) return end(which, false);  // it dies
    if (client.phase == Phase::acquiring && is_majority(client.granted)) return raise(which);
    if (client.phase == Phase::raising && is_majority(client.raised)) return show(which);
    if (random_.chance(client.phase == Phase::holding ? 60 : 25)) end(which, true);
  }

  void start(std::size_t which) {
    clients_[which] = {Phase::acquiring, ++last_owner_, now_, 0, {}, {}};
    for (std::size_t node = 0; node < nodes_.size(); ++node) send(Kind::acquire, which, node);
  }

  void raise(std::size_t which) {
    Client& client = clients_[which];
    client.token = *std::max_element(client.granted.begin(), client.granted.end());
    if (!rules_.raises) return show(which);
    client.phase = Phase::raising;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (client.granted[node] != 0) send(Kind::raise, which, node, client.token);
    }
  }

  void show(std::size_t which) {
    Client& client = clients_[which];
    if (rules_.minds_lease && now_ >= client.asked + lease_) return end(which, true);
    client.phase = Phase::holding;
    shown_.push_back(client.token);
  }

  void end(std::size_t which, bool releases) {
    for (std::size_t node = 0; releases && node < nodes_.size(); ++node) {
      send(Kind::release, which, node);
    }
    clients_[which].phase = Phase::idle;
  }

  Rules rules_;
  Random& random_;
  std::vector<Node> nodes_;
  std::vector<Client> clients_;
  std::vector<Message> messages_;
  std::vector<Token> shown_;
  int steps_;
  Time lease_;
  Time now_ = 1;
  std::uint64_t last_owner_ = k_nobody;
  std::uint64_t loss_ = 0;
  std::uint64_t restarts_ = 0;
};

}  // namespace rlock::test
