#include "lock/servers/fencing.hpp"

#include <optional>

#include "lock/servers/ballot.hpp"
#include "lock/servers/tally.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/token.hpp"
#include "lock/words/wrong_kind.hpp"
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
  return stale > 0 && majority.is_blocked_by(stale + count(votes, Verdict::no_counter));
}

// Returns whether a server has the token as its highest, and a majority knows of no higher one. A
// server has a lower one if it was away when the token was drawn.
bool is_accepted(const TokenVotes& votes, Majority majority) {
  const std::size_t accepted = count(votes, Verdict::accepted);
  return accepted > 0 && accepted + count(votes, Verdict::not_drawn) >= majority.needed();
}

// Returns the highest answer with this verdict, or nothing.
std::optional<TokenCheck> find(const TokenVotes& votes, Verdict verdict) {
  std::optional<TokenCheck> found;
  for (const auto& vote : votes) {
    if (!vote.answer || vote.answer->verdict != verdict) continue;
    if (!found || parse_token(vote.answer->highest) > parse_token(found->highest)) {
      found = *vote.answer;
    }
  }
  return found;
}

TokenCheck ask_all(Session& session, const std::string& name, std::int64_t token) {
  const Majority majority{session.nodes().size()};
  const auto runs = session.may_have_duplicates() ? session.unreachable() : nullptr;
  Ballot<TokenCheck> ballot(session, [=](std::size_t i, redis::Client& client) {
    if (runs) runs->ask_run(i, client);
    return check_token(client, name, token);
  });
  const TokenVotes votes =
      ballot.wait({TimePoint::max(), session.wake_fd()}, [&](const TokenVotes& so_far) {
        return is_accepted(so_far, majority) || is_stale(so_far, majority);
      });
  session.refuse_twins();
  if (is_stale(votes, majority)) return *find(votes, Verdict::stale);
  auto failures = failures_of(votes);
  const auto accepted = find(votes, Verdict::accepted);
  if (is_accepted(votes, majority) || (accepted && failures.empty())) return *accepted;
  // A server that did not answer may have the token.
  if (failures.empty()) {
    return find(votes, Verdict::not_drawn).value_or(TokenCheck{Verdict::no_counter, ""});
  }
  if (const std::size_t lost = count(votes, Verdict::no_counter); lost > 0) {
    failures.push_back(std::make_exception_ptr(
        redis::Unavailable(std::to_string(lost) + " without a counter, which may have been lost")));
  }
  throw_too_few(failures, majority, "check the token");
}

}  // namespace

TokenCheck check_token(redis::Client& client, const std::string& name, std::int64_t token) {
  const auto answer = lua::check_token::read(
      client.run(lua::check_token::Call{.token = KeyNames(name).token, .checked = token}));
  if (const auto* none = std::get_if<lua::check_token::NoToken>(&answer)) {
    throw no_counter(name, none->why);
  }
  if (const auto* stale = std::get_if<lua::check_token::Stale>(&answer)) {
    return {Verdict::stale, stale->highest};
  }
  if (const auto* other = std::get_if<lua::check_token::NotDrawn>(&answer)) {
    return {Verdict::not_drawn, other->highest};
  }
  const auto* accepted = std::get_if<lua::check_token::Accepted>(&answer);
  if (accepted == nullptr) return {Verdict::no_counter, ""};
  return {Verdict::accepted, accepted->highest};
}

TokenCheck check_token(Session& session, const std::string& name, std::int64_t token) {
  if (session.nodes().empty()) return check_token(session.client(), name, token);
  return ask_all(session, name, token);
}

bool raise_token(redis::Client& client, const std::string& name, const std::string& owner,
                 std::int64_t token) {
  const KeyNames keys(name);
  const auto answer = lua::raise_token::read(client.run(lua::raise_token::Call{
      .lock = keys.lock, .info = keys.info, .token = keys.token, .owner = owner, .raised = token}));
  if (const auto* none = std::get_if<lua::raise_token::NoToken>(&answer)) {
    throw no_counter(name, none->why);
  }
  return std::holds_alternative<lua::raise_token::Raised>(answer);
}

}  // namespace rlock::lock
