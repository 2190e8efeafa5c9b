#include "lock/servers/tally.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

bool ends_sooner(const Busy& one, const Busy& other) {
  if (!one.ttl || !other.ttl) return one.ttl.has_value() && !other.ttl.has_value();
  return *one.ttl < *other.ttl;
}

struct Reasons {
  std::size_t restarted = 0;
  std::size_t lasting = 0;  // errors that time alone does not repair
  std::exception_ptr first_lasting;
};

Reasons reasons_of(const std::vector<std::exception_ptr>& failures) {
  Reasons reasons;
  for (const std::exception_ptr& failure : failures) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      if (dynamic_cast<const Restarted*>(&error) != nullptr) ++reasons.restarted;
      if (error.is_temporary()) continue;
      ++reasons.lasting;
      if (!reasons.first_lasting) reasons.first_lasting = failure;
    } catch (const redis::Interrupted&) {  // the session ends
    }
  }
  return reasons;
}

}  // namespace

Refusal add_up(std::vector<Busy> refusals, std::size_t granted,
               const std::vector<std::exception_ptr>& failures, Majority majority) {
  std::ranges::sort(refusals, ends_sooner);
  std::map<std::string, std::size_t> votes;
  for (const Busy& busy : refusals) ++votes[busy.owner];
  const auto most =
      std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  const auto of_most = std::ranges::find(refusals, most->first, &Busy::owner);
  Refusal refusal{*of_most, most->second < majority.needed()};
  const std::size_t missing = majority.needed() - std::min(granted, majority.needed() - 1);
  refusal.busy.ttl = refusals[std::min(missing, refusals.size()) - 1].ttl;
  const std::size_t unknown = majority.servers - granted - refusals.size() - failures.size();
  if (!failures.empty() && most->second + unknown < majority.needed()) {
    refusal.busy.failure = std::make_exception_ptr(Failed("", NoOwner{majority.servers, failures}));
  }
  return refusal;
}

void throw_too_few(const std::vector<std::exception_ptr>& failures, Majority majority,
                   Purpose purpose, std::size_t silent) {
  const Reasons reasons = reasons_of(failures);
  if (majority.is_blocked_by(reasons.lasting)) std::rethrow_exception(reasons.first_lasting);
  const TooFew why{majority.servers, majority.needed(), purpose, failures, silent};
  if (reasons.restarted > 0 && !majority.is_blocked_by(failures.size() - reasons.restarted)) {
    throw Restarted("", why);
  }
  throw Failed("", why);
}

}  // namespace rlock::lock
