#include "lock/servers/tally.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/duration.hpp"
#include "base/words.hpp"
#include "lock/servers/restart.hpp"
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

// Returns the end of a message: each failure's sentence once, and one for all servers that have
// just started. If these have enough votes, of which `missing` are missing, it says when to try
// again.
std::string describe(const std::vector<std::exception_ptr>& failures, std::size_t missing) {
  std::set<std::string> texts;
  std::vector<std::string> started;
  std::vector<Milliseconds> waits;
  Milliseconds delay{0};
  for (const std::exception_ptr& failure : failures) {
    try {
      std::rethrow_exception(failure);
    } catch (const JustStarted& error) {
      started.push_back(error.server());
      waits.push_back(error.time_left());
      delay = error.delay();
    } catch (const Error& error) {
      texts.insert(error.what());
    } catch (const redis::Interrupted&) {  // the session ends
    }
  }
  std::ranges::sort(waits);
  if (!started.empty()) {
    texts.insert(join(started, ", ") + ": " + describe_restart(delay) + ": no vote yet");
  }
  std::string text = texts.empty() ? "" : ": " + join({texts.begin(), texts.end()}, "; ");
  if (missing == 0 || waits.size() < missing) return text;
  return text + "; try again in " + format_duration(waits[missing - 1]);
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
    refusal.busy.failure = std::make_exception_ptr(redis::Unavailable(
        "no owner is known to have a majority of the " + std::to_string(majority.servers) +
        " servers, and some of them fail" + describe(failures, 1)));
  }
  return refusal;
}

void throw_too_few(const std::vector<std::exception_ptr>& failures, Majority majority,
                   const std::string& purpose, std::size_t silent) {
  const Reasons reasons = reasons_of(failures);
  if (majority.is_blocked_by(reasons.lasting)) std::rethrow_exception(reasons.first_lasting);
  const std::size_t missing = majority.needed() + failures.size() + silent - majority.servers;
  const std::string text =
      "too few of the " + std::to_string(majority.servers) + " servers answered, " +
      std::to_string(majority.needed()) + " are needed to " + purpose +
      describe(failures, missing) +
      (silent > 0 ? "; " + std::to_string(silent) + " did not answer in time" : "");
  if (reasons.restarted > 0 && !majority.is_blocked_by(failures.size() - reasons.restarted)) {
    throw Restarted(text);
  }
  throw redis::Unavailable(text);
}

}  // namespace rlock::lock
