// Everything that a server stores about a lock, read at one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock/inspection/listening_clients.hpp"
#include "lock/inspection/problem.hpp"
#include "lock/inspection/server_info.hpp"
#include "lock/words/kind.hpp"
#include "lock/words/owner.hpp"
#include "redis/client.hpp"

namespace rlock::lock {

struct Party {
  std::string owner;
  About about{};  // empty if the side key has no entry
  std::optional<std::int64_t> since_ms{};
  bool is_told = false;  // the side key has an entry
};

// Returns whether the party is a process of this host that has ended.
[[nodiscard]] bool has_ended(const Party& party);

// The same of a party that waits. `rlock acquire` waits for another process, with which the hold is
// to end, so either of the two may have ended.
[[nodiscard]] bool has_waiter_ended(const Party& waiter);

struct Holder : Party {
  enum class Mode { exclusive, read, write };
  std::int64_t count = 1;
  Mode mode = Mode::exclusive;
  std::optional<Kind> kind;             // the kind of lock that the holder uses
  std::optional<std::int64_t> token;    // the fencing token that the holder has drawn
  std::optional<std::int64_t> ends_ms;  // end of a permit; nothing: never, or not a permit
  std::optional<Milliseconds> lease;    // of the last grant or renewal
};

struct Waiter : Party {
  std::optional<std::int64_t> deadline_ms;  // on the server's clock
  std::optional<bool> alive;                // nothing: not known
};

// Times are milliseconds of the server's clock since 1970.
struct Snapshot {
  // The permits of a semaphore. A permit that has ended counts as available at once.
  struct Permits {
    std::int64_t total = 0;
    std::int64_t available = 0;
    std::optional<std::int64_t> made_with;             // --permits of the run that created it
    std::vector<std::pair<std::string, double>> ends;  // of permits that were not given back
    std::int64_t ended = 0;                            // how many of them have ended
  };

  std::string name;
  std::int64_t time_ms = 0;
  bool held = false;
  // Whether it may be no lock. Of a string, the owner is then the start of its value.
  Ambiguity ambiguity = Ambiguity::none;
  std::optional<Kind> kind;  // `read` stands for both sides of a read/write lock
  bool is_unknown = false;   // what is there is no lock, so it has no kind
  // Nothing: free. -1: no expiry. For a semaphore: until the last permit in use ends.
  std::optional<std::int64_t> ttl_ms;
  std::optional<std::int64_t> token;
  std::vector<Holder> holders;
  std::vector<Waiter> waiters;  // in the queue of a fair lock
  std::optional<UnknownWaiters> unknown_waiters;
  // How many other clients listen for a release, because they wait or watch. A Redisson process
  // listens once for all its threads. Nothing: the user is not allowed to ask.
  std::optional<std::size_t> listening;
  // Clients of rlock that listen, perhaps to another lock. Nothing: the caller did not ask, or may
  // not.
  std::optional<std::vector<ListeningClient>> listening_clients{};
  std::vector<std::pair<std::string, std::string>> hash;
  std::vector<std::string> queue;
  std::vector<std::pair<std::string, double>> scores;
  std::vector<std::string> dead_readers;   // of a read/write lock
  std::optional<Permits> permits;          // of a semaphore
  std::optional<Replication> replication;  // of the server; nothing: the user is not allowed to ask
  std::vector<Database> other_databases;   // that have keys, if this one has none
  std::vector<Problem> problems;

  // Returns whether there is a lock whose key has this shape.
  [[nodiscard]] bool is(Shape shape) const { return kind && traits_of(*kind).shape == shape; }

  // Returns whether what is there is a lock without doubt, or nothing is there.
  [[nodiscard]] bool is_certain() const { return ambiguity == Ambiguity::none && !is_unknown; }

  // Returns how many waiters of the queue are known to be dead.
  [[nodiscard]] std::size_t dead_waiters() const;
  // Returns whether it comes from a replica that no longer hears from its master. A lock that seems
  // free may then be held, and waiters that seem dead may live.
  [[nodiscard]] bool is_stale() const { return replication && replication->is_stale(); }

  // Returns how many clients are known to queue or listen. Nothing: not known.
  [[nodiscard]] std::optional<std::size_t> waiting() const;
};

// Returns how a holder has the lock, as the JSON output names it.
[[nodiscard]] const char* mode_name(Holder::Mode mode);

// What the caller itself listens to. That does not count in Snapshot::listening.
enum class Ears { none, release, every_release };

// Reads the state of the lock `name`. Changes nothing. Needs a client for large replies. `ears`:
// `release` is KeyNames::channel; `every_release` includes the channels of the other kinds. Throws
// as redis::Client::run.
[[nodiscard]] Snapshot take_snapshot(redis::Client& client, const std::string& name,
                                     Ears ears = Ears::none);

// Reads many locks, several of them in one round trip, each at its own moment. Calls `use` with the
// snapshot of each name in order, or with nothing if no script may read the lock's keys. If the
// slot of a lock is being moved, reads the others first, and throws at the end. Throws as
// take_snapshot.
void take_snapshots(redis::Client& client, const std::vector<std::string>& names,
                    const std::function<void(const std::optional<Snapshot>&)>& use);

}  // namespace rlock::lock
