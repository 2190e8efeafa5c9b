// One of the servers of a quorum: a store without persistence, and what is asked of it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explore/lua_host.hpp"
#include "explore/store.hpp"
#include "lua_scripts.hpp"

namespace rlock::explore::quorum {

constexpr std::size_t k_servers = 3;
constexpr std::int64_t k_lease_ms = 10'000;
constexpr std::int64_t k_step_ms =
    k_lease_ms / 2;  // the longest that passes at once, unless all rest
constexpr std::int64_t k_longest_way_ms = 30'000;  // as in lock/servers/question.hpp

// The owner of an attempt, and its hold, are "n", a number and "."; 0: there is none.
using Name = int;
[[nodiscard]] std::string text_of(Name name);
// Returns the number of the name that begins there, and where it ends; 0 if none does.
[[nodiscard]] std::pair<Name, std::size_t> name_at(const std::string& text, std::size_t at);

// Returns a text with each name replaced by what `rename` says.
template <typename Rename>
std::string renamed(const std::string& text, Rename rename) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [name, end] = name_at(text, at);
    if (end == at) {
      result += text[at++];
    } else {
      result += rename(name);
      at = end;
    }
  }
  return result;
}

// What a client asks one server. restore: take, without a restart delay, see QuorumLock.
// forget: DEL of the latch, which follows an answered release.
enum class What { take, renew, restore, give_back, forget };
[[nodiscard]] const char* name_of(What what);

struct Request {
  What what = What::take;
  Name name = 0;
  bool wakes = false;  // give_back: those who wait are told
};

// What one server knows. It never changes: what a request makes of it is another one.
struct Server {
  Store store;
  std::int64_t up_ms = 0;  // since its restart; k_always_up: long ago
  std::string text;        // all of it that matters
  std::string brief;       // the same as a number, and the names in it
  std::string content;     // the same without the ends of the keys
  std::vector<Name> names, latches;
  Name voted = 0;            // whom it has given its vote
  int count = 0;             // of that one's holds
  std::int64_t left_ms = 0;  // of that vote; 0 without one
  bool has_endless = false;  // a key without an expiry
  std::size_t voters = 0;    // how many have its vote
  std::int64_t next_ms = 0;  // when something changes next; 0: never
  struct Outcome {
    const Server* server = nullptr;
    Reply reply;
    std::string violation;  // of a promise about the request itself
  };
  mutable std::map<std::pair<int, Name>, Outcome> outcomes;
  mutable std::map<std::int64_t, const Server*> later;
};

constexpr std::int64_t k_always_up = -1;

// All servers that there can be. Each is there once, and what a script makes of it is kept.
class Servers {
 public:
  // `delay_ms`: how long a server has to be up to vote.
  Servers(LuaHost& host, std::int64_t delay_ms) : host_(host), delay_ms_(delay_ms) {}

  [[nodiscard]] const Server* empty();
  // One that has forgotten everything and just runs again.
  [[nodiscard]] const Server* restarted(int generation);
  [[nodiscard]] const Server* later(const Server* server, std::int64_t ms);
  // One without the latch of a name, which nobody can ask for any more.
  [[nodiscard]] const Server* without_latch(const Server* server, Name name);
  [[nodiscard]] const Server::Outcome& run(const Server* server, const Request& request);

  // What is sent: a script with keys and arguments, or a command.
  struct Sent {
    std::string script;
    Words keys, args;
  };
  [[nodiscard]] static Sent of(const redis::ScriptCall& call);
  [[nodiscard]] Sent sent(const Request& request) const;
  [[nodiscard]] std::size_t count() const { return all_.size(); }

 private:
  const Server* intern(Store store, std::int64_t up_ms);

  LuaHost& host_;
  std::int64_t delay_ms_;
  std::deque<Server> all_;
  std::unordered_map<std::string, const Server*> by_text_;
  std::unordered_map<std::string, std::size_t> patterns_;  // texts without their names
};

}  // namespace rlock::explore::quorum
