#include "lock/servers/fencing.hpp"

#include <algorithm>

#include "lock/servers/ballot.hpp"
#include "lock/servers/tally.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/refused.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

using Verdict = TokenCheck::Verdict;
using TokenVotes = std::vector<Vote<TokenCheck>>;

std::size_t count(const TokenVotes& votes, Verdict verdict) {
  return count_votes(
      votes, [&](const auto& vote) { return vote.answer && vote.answer->verdict == verdict; });
}

// Returns whether a majority can no longer accept the token, and a server knows a higher one.
bool is_stale(const TokenVotes& votes, Majority majority) {
  const std::size_t stale = count(votes, Verdict::stale);
  return stale > 0 && majority.is_blocked_by(stale + count(votes, Verdict::unknown));
}

// Asks several servers. `unknown`: no server knows a higher token, and some have no counter.
TokenCheck ask_all(Session& session, const std::string& name, std::int64_t token, Missing missing) {
  const Majority majority{session.nodes().size()};
  const auto runs = session.has_look_alikes() ? session.absentees() : nullptr;
  Ballot<TokenCheck> ballot(session, [=](std::size_t i, redis::Client& client) {
    if (runs) runs->ask_run(i, client);
    return check_token(client, name, token, missing);
  });
  const TokenVotes votes =
      ballot.wait({TimePoint::max(), session.wake_fd()}, [&](const TokenVotes& so_far) {
        return count(so_far, Verdict::accepted) >= majority.needed() || is_stale(so_far, majority);
      });
  session.refuse_twins();
  if (is_stale(votes, majority)) {
    return *std::ranges::find_if(votes, [](const auto& vote) {
              return vote.answer && vote.answer->verdict == Verdict::stale;
            })->answer;
  }
  const std::size_t unknown = count(votes, Verdict::unknown);
  auto failures = failures_of(votes);
  // If all servers have answered, no other server can know a higher token.
  if (count(votes, Verdict::accepted) >= majority.needed() || failures.empty()) {
    return {unknown > 0 ? Verdict::unknown : Verdict::accepted, std::to_string(token)};
  }
  if (unknown > 0) failures.push_back(std::make_exception_ptr(Failed("", LostCounters{unknown})));
  throw_too_few(failures, majority, Purpose::check_token);
}

}  // namespace

TokenCheck check_token(redis::Client& client, const std::string& name, std::int64_t token,
                       Missing missing) {
  const auto answer = lua::check_token::read(client.run(lua::check_token::Call{
      .token = KeyNames(name).token, .checked = token, .abstains = missing == Missing::abstains}));
  if (const auto* none = std::get_if<lua::check_token::NoToken>(&answer)) {
    throw Refused(name, NoCounter{none->why});
  }
  if (const auto* stale = std::get_if<lua::check_token::Stale>(&answer)) {
    return {Verdict::stale, stale->highest};
  }
  const auto* accepted = std::get_if<lua::check_token::Accepted>(&answer);
  if (accepted == nullptr) return {Verdict::unknown, ""};
  return {Verdict::accepted, accepted->highest};
}

TokenCheck check_token(Session& session, const std::string& name, std::int64_t token) {
  if (session.nodes().empty()) return check_token(session.client(), name, token, Missing::accepts);
  TokenCheck check = ask_all(session, name, token, Missing::abstains);
  if (check.verdict != Verdict::unknown) return check;
  // Only now may servers without a counter accept. Otherwise servers that lose their counters one
  // after the other would learn an old token from its user, and in the end be a majority for it.
  return ask_all(session, name, token, Missing::accepts);
}

bool raise_token(redis::Client& client, const std::string& name, const std::string& owner,
                 std::int64_t token) {
  const KeyNames keys(name);
  const auto answer = lua::raise_token::read(client.run(lua::raise_token::Call{
      .lock = keys.lock, .info = keys.info, .token = keys.token, .owner = owner, .raised = token}));
  if (const auto* none = std::get_if<lua::raise_token::NoToken>(&answer)) {
    throw Refused(name, NoCounter{none->why});
  }
  return std::holds_alternative<lua::raise_token::Raised>(answer);
}

}  // namespace rlock::lock
