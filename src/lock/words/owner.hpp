// Who holds, or wants, a lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace rlock::lock {

// The length of what Redisson names a permit by. It is shown in hexadecimal.
inline constexpr std::size_t k_redisson_permit_bytes = 16;

// Returns a new owner, `<uuid>:<pid>`: the field in the lock's hash. The UUID is random, so no two
// runs share an owner, whatever their pids.
[[nodiscard]] std::string fresh_owner();

// Returns a new owner that does not tell of a process: its number is random, too.
[[nodiscard]] std::string anonymous_owner();

// Returns `owner` with another random UUID: another owner of the same process.
[[nodiscard]] std::string with_fresh_uuid(const std::string& owner);

// Returns whether the value of a string looks like an owner: a UUID, also with ":NUMBER" after it,
// or 16 bytes as redis-py, node-redlock and redsync write them, or time and host as ShedLock does.
// Any other may be an application's, and secret.
[[nodiscard]] bool looks_like_owner(std::string_view value);

// Returns whether the field of a hash looks like an owner of rlock or Redisson: UUID:NUMBER, also
// with ":write" or the identifier of a transaction after it. Other fields may be an application's.
[[nodiscard]] bool looks_like_field_owner(std::string_view field);

// What may be no lock: a string, or a hash, of which nothing shows that it is a lock.
enum class Ambiguity { none, string, hash };

// Returns the first 8 bytes of a value, without a character that is cut, and "..." where that is
// not all.
[[nodiscard]] std::string start_of(std::string_view value);

// Who an owner is, for people: stored beside the lock, never inside it.
struct About {
  std::string host{};
  pid_t pid = 0;
  std::string user{};
  std::string command{};  // the program's name, never its arguments: they may hold secrets
  std::string note{};     // what the user wanted to be told besides
  // Empty, or the identity (base/process_identity.hpp) of the process that the hold ends with.
  std::string process{};
  // The run of this holder has ended, and the lock is kept until then (ms of the server's clock
  // since 1970); 0: the run goes on.
  std::int64_t kept_until_ms = 0;
  bool listens = false;  // whether a process that keeps the lock listens for releases of it
  bool renews = false;   // whether the hold is renewed every third of its lease
};

// Returns what to say of this process. `command`, which it runs, may be a path.
[[nodiscard]] About about_this_process(const std::string& command);

// Returns what to say of the process that has called this one, and that goes on without it.
[[nodiscard]] About about_calling_process();

// Returns what to say of the process `pid` of this machine, which the hold ends with.
[[nodiscard]] About about_process(pid_t pid);

}  // namespace rlock::lock
