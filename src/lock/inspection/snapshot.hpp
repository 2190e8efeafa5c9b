// What Redis holds about a lock, read at one instant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock/inspection/problem.hpp"
#include "lock/words/kind.hpp"
#include "lock/words/owner.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct Party {
  std::string owner;
  About about{};  // empty where rlock's side key does not tell
  std::optional<std::int64_t> since_ms{};
  bool is_told = false;  // the side key tells
};

struct Holder : Party {
  enum class Mode { exclusive, read, write };
  std::int64_t count = 1;
  Mode mode = Mode::exclusive;
  std::optional<Kind> kind;             // of the lock, as the holder uses it
  std::optional<std::int64_t> token;    // the fencing token that it has drawn
  std::optional<std::int64_t> ends_ms;  // of a semaphore's permit; nothing: never, or no permit
};

struct Waiter : Party {
  std::optional<std::int64_t> deadline_ms;  // of the server's clock
  std::optional<bool> alive;                // nothing: it cannot be told
};

// Times are milliseconds of the server's clock since 1970.
struct Snapshot {
  enum class Kind { none, reentrant, fair, read_write, simple, semaphore, unknown };

  // Of a semaphore. What has ended and was not taken back yet counts as available.
  struct Permits {
    std::int64_t total = 0;
    std::int64_t available = 0;
    std::optional<std::int64_t> made_with;             // how many, where rlock made it
    std::vector<std::pair<std::string, double>> ends;  // of those that are out, and not back yet
    std::int64_t ended = 0;                            // so many of them have ended
  };

  std::string name;
  std::int64_t time_ms = 0;
  bool held = false;
  // A string of which nothing tells that it is a lock: the owner is the start of its value.
  bool is_any_string = false;
  Kind kind = Kind::none;
  // Nothing: free; -1: no expiry. Of a semaphore, until the last permit that is out ends.
  std::optional<std::int64_t> ttl_ms;
  std::optional<std::int64_t> token;
  std::vector<Holder> holders;
  std::vector<Waiter> waiters;  // in the queue of a fair lock
  // How many others listen for a release: those who wait for it, or watch it. A process of Redisson
  // listens once for all its threads. Nothing: the user may not ask the server.
  std::optional<std::size_t> listening;
  std::vector<std::pair<std::string, std::string>> hash;
  std::vector<std::string> queue;
  std::vector<std::pair<std::string, double>> scores;
  std::vector<std::string> dead_readers;  // of a read/write lock
  std::optional<Permits> permits;         // of a semaphore
  std::vector<Problem> problems;

  // Returns how many wait, in the queue or listening, as far as is known; nothing: nobody can tell.
  [[nodiscard]] std::optional<std::size_t> waiting() const;
};

// Returns how a holder has the lock, as the JSON output names it.
[[nodiscard]] const char* mode_name(Holder::Mode mode);

// What the caller itself listens to, which does not count as listening.
enum class Ears { none, release, every_release };

// Reads the state of the lock `name`; changes nothing. Needs a client for large replies.
// `ears`: `release` is its KeyNames::channel; `every_release` also those of the other kinds.
// Throws as redis::Client::run.
[[nodiscard]] Snapshot take_snapshot(redis::Client& client, const std::string& name,
                                     Ears ears = Ears::none);

// Reads many locks, some of them in one round trip, each at an instant of its own. Calls `use` with
// the snapshot of each name in turn, or with nothing where no script may read the lock's keys. One
// whose slot is being moved hides no other: that is thrown in the end. Throws as take_snapshot.
void take_snapshots(redis::Client& client, const std::vector<std::string>& names,
                    const std::function<void(const std::optional<Snapshot>&)>& use);

}  // namespace rlock::lock
