#include "lock/inspection/breaking.hpp"

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/integer.hpp"
#include "base/random.hpp"
#include "lock/servers/question.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/owner_info.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

using Words = std::vector<std::string>;

// A lock that is to be broken whoever has it may pass so often to others before that is done.
constexpr int k_most_changes = 20;
constexpr std::size_t k_latch_id_bytes = 16;

enum Code : std::int64_t { k_left = 0, k_done = 1, k_nothing = 2, k_other_kind = 3 };

[[noreturn]] void refuse(const std::string& name, const std::string& kind, const char* hint = "") {
  throw Error(ExitStatus::wrong_kind, escape_for_terminal(name) +
                                          ": the name is in use by something else (" +
                                          escape_for_terminal(kind) + ")" + hint);
}

// Sends a request that the server remembers by a latch, and has it forget that. Returns the answer,
// and sets `unanswered` to how many got none before.
redis::Reply run_once(redis::Client& client, const redis::Script& script, const Words& key_names,
                      const std::string& latch, const Words& args, int& unanswered) {
  redis::ScriptArgs call{key_names, {to_argument(memory_of(client))}};
  call.args.insert(call.args.end(), args.begin(), args.end());
  unanswered = 0;
  redis::Reply reply = client.run(script, call, &unanswered);
  // With every request answered, none can still be under way that the latch would have to stop.
  if (unanswered == 0) client.send_behind({"DEL", latch});
  return reply;
}

// The same of a script for plain and fair locks.
redis::Reply run_once(redis::Client& client, const redis::Script& script, const KeyNames& keys,
                      const Words& more_keys, const Words& args, int& unanswered) {
  const std::string latch = keys.latch(random_hex(k_latch_id_bytes));
  Words names{keys.lock, keys.channel, keys.info, latch, keys.queue, keys.timeout};
  names.insert(names.end(), more_keys.begin(), more_keys.end());
  return run_once(client, script, names, latch, args, unanswered);
}

// Has force_release_semaphore.lua do `task`. Returns its answer.
redis::Reply break_semaphore(redis::Client& client, const KeyNames& keys, const char* task,
                             const Words& expected, int& unanswered) {
  const std::string latch = keys.latch(random_hex(k_latch_id_bytes));
  Words args{keys.semaphore_channel, task};
  args.insert(args.end(), expected.begin(), expected.end());
  return run_once(client, lua::force_release_semaphore::script,
                  {keys.lock, keys.info, latch, keys.permits}, latch, args, unanswered);
}

// Returns whether an answer of force_release.lua says that there is a string.
bool is_string(const redis::Reply& reply) {
  const auto& items = reply.as_array(2);
  return items[0].as_integer() == k_other_kind && items[1].as_text() == "string";
}

Party make_party(const std::string& owner, const std::string& told) {
  Party party;
  party.owner = owner;
  if (!told.empty()) {
    const OwnerInfo info = parse_owner_info(told);
    party.about = info.about;
    party.since_ms = info.since_ms;
  }
  return party;
}

Holder::Mode mode_of(const std::string& mode, const std::string& owner) {
  if (mode.empty()) return Holder::Mode::exclusive;
  return owner.ends_with(":write") ? Holder::Mode::write : Holder::Mode::read;
}

// Has force_release.lua do `task`, and judges its answer. Sets `unanswered` as run_once.
Breaking request(redis::Client& client, const std::string& name, Breakable what, const char* task,
                 const Words& expected, int& unanswered) {
  check_name(name);
  const KeyNames keys(name);
  Words args{keys.reader_prefix, what == Breakable::simple ? "simple" : "lock", task};
  args.insert(args.end(), expected.begin(), expected.end());
  redis::Reply reply = run_once(client, lua::force_release::script, keys, {keys.read_write_channel},
                                args, unanswered);
  if (what == Breakable::lock && is_string(reply)) {
    reply = break_semaphore(client, keys, task, expected, unanswered);
  }
  const std::int64_t code = reply.as_array(2)[0].as_integer();
  if (code == k_other_kind) {
    const std::string& kind = reply.items[1].as_text();
    refuse(name, kind,
           what == Breakable::lock && kind == "string"
               ? "; if that is a lock, --kind simple breaks it"
               : "");
  }
  const auto& items = reply.as_array(7);
  Breaking breaking;
  breaking.outcome = code == k_done      ? Breaking::Outcome::broken
                     : code == k_nothing ? Breaking::Outcome::free
                                         : Breaking::Outcome::held_by_others;
  Standing& found = breaking.found;
  found.time_ms = to_integer(items[1].as_text());
  found.ttl_ms = items[2].as_integer();
  found.queued = items[3].as_integer();
  found.listening = items[4].as_integer();
  const auto& holders = items[6].as_array();
  for (std::size_t i = 0; i + 2 < holders.size(); i += 3) {
    Holder holder;
    static_cast<Party&>(holder) = make_party(holders[i].as_text(), holders[i + 2].as_text());
    holder.count = to_integer(holders[i + 1].as_text());
    holder.mode = mode_of(items[5].as_text(), holder.owner);
    found.holders.push_back(std::move(holder));
  }
  if (what == Breakable::simple && !found.holders.empty()) {
    const Holder& holder = found.holders.front();
    found.is_any_string = !holder.about && !looks_like_owner(holder.owner);
  }
  return breaking;
}

}  // namespace

Words owners_of(const Standing& standing) {
  Words owners;
  for (const Holder& holder : standing.holders) owners.push_back(holder.owner);
  return owners;
}

Standing look_at(redis::Client& client, const std::string& name, Breakable what) {
  int unanswered = 0;
  return request(client, name, what, "look", {}, unanswered).found;
}

Breaking break_lock(redis::Client& client, const std::string& name, Breakable what,
                    const std::optional<Words>& expected) {
  int unanswered = 0;
  if (expected) return request(client, name, what, "only", *expected, unanswered);
  // The holders are named here, too: a request that is carried out twice, however late, must not
  // take the lock from the next holder. Nor must one with other names follow where it may have
  // been.
  Breaking breaking{Breaking::Outcome::held_by_others, look_at(client, name, what)};
  for (int i = 0; i < k_most_changes && unanswered == 0; ++i) {
    if (breaking.outcome != Breaking::Outcome::held_by_others) break;
    breaking = request(client, name, what, "only", owners_of(breaking.found), unanswered);
  }
  return breaking;
}

std::optional<Eviction> evict(redis::Client& client, const std::string& name,
                              const std::string& waiter) {
  check_name(name);
  int unanswered = 0;
  const redis::Reply reply =
      run_once(client, lua::evict::script, KeyNames(name), {}, {waiter}, unanswered);
  const std::int64_t code = reply.as_array(2)[0].as_integer();
  if (code == k_other_kind) refuse(name, reply.items[1].as_text());
  if (code == k_nothing) return std::nullopt;
  const auto& items = reply.as_array(4);
  Eviction eviction;
  eviction.waiter = make_party(waiter, items[3].as_text());
  const std::int64_t place = items[1].as_integer();
  const std::int64_t alive = items[2].as_integer();
  if (place >= 0) eviction.position = static_cast<std::size_t>(place) + 1;
  if (alive >= 0) eviction.alive = alive == 1;
  return eviction;
}

}  // namespace rlock::lock
