#include "lock/servers/kept_hold.hpp"

#include <algorithm>
#include <utility>

#include "lock/servers/ballot.hpp"
#include "lock/servers/tally.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::lock {
namespace {

// Returns what this server tells for kept_after_end.
OwnerInfo kept_on(redis::Client& client, const KeyNames& keys, const std::string& owner) {
  OwnerInfo kept;
  // An owner has one entry as a reader and one as the writer. Both sides must have ended.
  for (const std::string& of : {owner, owner + ":write"}) {
    const redis::Reply told = client.command({"HGET", keys.info, of}, keys.info);
    if (told.is_error()) return {};  // the user may have no right to the side key
    if (told.is_nil()) continue;
    OwnerInfo info = parse_owner_info(told.as_optional_text().value_or(""));
    if (info.about.kept_until_ms == 0) return {};
    if (info.about.kept_until_ms > kept.about.kept_until_ms) kept = std::move(info);
  }
  if (kept.about.kept_until_ms == 0) return {};
  // The entry can outlast the lock.
  const bool is_left = client.command({"EXISTS", keys.lock}, keys.lock).as_integer() == 1;
  return is_left ? kept : OwnerInfo{};
}

}  // namespace

std::optional<OwnerInfo> kept_after_end(Session& session, const std::string& name,
                                        const std::string& owner) {
  const KeyNames keys(name);
  OwnerInfo kept;
  if (session.nodes().empty()) {
    kept = kept_on(session.client(), keys, owner);
  } else {
    Ballot<OwnerInfo> ballot(
        session, [=](std::size_t, redis::Client& client) { return kept_on(client, keys, owner); });
    const Majority majority{session.nodes().size()};
    const auto is_kept = [](const Vote<OwnerInfo>& vote) {
      return vote.answer && vote.answer->about.kept_until_ms != 0;
    };
    const auto votes = ballot.wait({TimePoint::max(), session.wake_fd()}, k_for_all);
    if (count_votes(votes, is_kept) < majority.needed()) return std::nullopt;
    kept = *std::ranges::find_if(votes, is_kept)->answer;
  }
  return kept.about.kept_until_ms == 0 ? std::nullopt : std::optional(kept);
}

}  // namespace rlock::lock
