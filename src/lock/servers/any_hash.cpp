#include "lock/servers/any_hash.hpp"

#include <cstdint>

#include "base/integer.hpp"
#include "lock/servers/ballot.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/owner.hpp"
#include "lock/words/wrong_kind.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

// Returns whether a hash has the owner, with its hold count, as a lock would have it.
bool is_in_hash(redis::Client& client, const Key& lock, const std::string& owner) {
  for (const std::string& of : {owner, owner + ":write"}) {  // as a writer
    const redis::Reply reply = client.command({"HGET", lock, of}, lock);
    if (reply.is_error() && redis::is_error(reply.text, "WRONGTYPE")) return false;
    if (reply.is_error()) throw redis::ServerError(client.options().endpoint.display(), reply.text);
    if (parse_integer<std::uint64_t>(reply.as_optional_text().value_or(""))) return true;
  }
  return false;
}

}  // namespace

void refuse_any_hash(Session& session, const std::string& name, const std::string& owner) {
  // The scripts take no field without a colon for an owner.
  if (looks_like_field_owner(owner) || owner.find(':') == std::string::npos) return;
  const Key lock = KeyNames(name).lock;
  bool is_found = false;
  if (session.nodes().empty()) {
    is_found = is_in_hash(session.client(), lock, owner);
  } else {
    Ballot<bool> ballot(session, [=](std::size_t /*server*/, redis::Client& client) {
      return is_in_hash(client, lock, owner);
    });
    const auto votes = ballot.wait({TimePoint::max(), session.wake_fd()}, k_for_all);
    is_found = count_answers(votes, true) > 0;
  }
  if (is_found) throw doubtful_hash(name);
}

}  // namespace rlock::lock
