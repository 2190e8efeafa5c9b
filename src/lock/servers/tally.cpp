#include "lock/servers/tally.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

bool ends_sooner(const Busy& one, const Busy& other) {
  if (!one.ttl || !other.ttl) return one.ttl.has_value() && !other.ttl.has_value();
  return *one.ttl < *other.ttl;
}

}  // namespace

Refusal add_up(std::vector<Busy> refusals, std::size_t granted, Majority majority) {
  std::ranges::sort(refusals, ends_sooner);
  std::map<std::string, std::size_t> votes;
  for (const Busy& busy : refusals) ++votes[busy.owner];
  const auto most =
      std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  const auto of_most = std::ranges::find(refusals, most->first, &Busy::owner);
  Refusal refusal{*of_most, most->second < majority.needed()};
  const std::size_t missing = majority.needed() - std::min(granted, majority.needed() - 1);
  refusal.busy.ttl = refusals[std::min(missing, refusals.size()) - 1].ttl;
  return refusal;
}

void throw_too_few(const std::vector<std::exception_ptr>& failures, Majority majority,
                   const std::string& what) {
  std::set<std::string> reasons;
  std::size_t lasting = 0;
  std::exception_ptr first_lasting;
  for (const std::exception_ptr& failure : failures) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      reasons.insert(error.what());
      if (error.is_temporary()) continue;
      ++lasting;
      if (!first_lasting) first_lasting = failure;
    } catch (const redis::Interrupted&) {  // the session ends
    }
  }
  if (majority.is_blocked_by(lasting)) std::rethrow_exception(first_lasting);
  std::string text = "too few of the " + std::to_string(majority.servers) + " servers answered, " +
                     std::to_string(majority.needed()) + " are needed to " + what;
  for (const std::string& reason : reasons) {
    text += (reason == *reasons.begin() ? ": " : "; ") + reason;
  }
  throw redis::Unavailable(text);
}

}  // namespace rlock::lock
