#include "lock/inspection/snapshot.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/escape.hpp"
#include "base/integer.hpp"
#include "base/process_identity.hpp"
#include "lock/inspection/snapshot_problems.hpp"
#include "lock/inspection/snapshot_request.hpp"
#include "lock/words/key_names.hpp"
#include "lock/words/owner_info.hpp"
#include "lua_limits.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

using Replies = std::vector<redis::Reply>;

constexpr std::size_t k_at_once = 50;  // snapshots in one round trip

std::int64_t to_time(double score) {
  constexpr auto k_limit = static_cast<double>(k_furthest_ms);
  return score == score ? static_cast<std::int64_t>(std::clamp(score, -k_limit, k_limit)) : 0;
}

// Returns a score of a sorted set. It can be infinite. Throws redis::ProtocolError.
double to_score(const std::string& text) {
  char* end = nullptr;
  const double score = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) {
    throw redis::ProtocolError("a score that is not a number");
  }
  return score;
}

// Finds the pairs of a reply by their first text. Callers mostly ask in the order of the reply:
// then it builds no index.
class Pairs {
 public:
  explicit Pairs(const Replies& items) : items_(items) {}

  // Returns the second text of the pair, or null.
  const std::string* find(const std::string& key) {
    if (next_ + 1 < items_.size() && items_[next_].as_text() == key) return take(next_);
    if (places_.empty()) build();
    const auto found = places_.find(key);
    return found == places_.end() ? nullptr : take(found->second);
  }

 private:
  const std::string* take(std::size_t place) {
    next_ = place + 2;
    return &items_[place + 1].as_text();
  }

  void build() {
    places_.reserve(items_.size() / 2);
    for (std::size_t i = 0; i + 1 < items_.size(); i += 2) places_.emplace(items_[i].as_text(), i);
  }

  const Replies& items_;
  std::size_t next_ = 0;
  std::unordered_map<std::string_view, std::size_t> places_;
};

// Fills `party` from the side key's entry of `owner`. Returns the whole entry, or nothing.
std::optional<OwnerInfo> describe(Party& party, const std::string& owner, Pairs& infos) {
  party.owner = owner;
  const std::string* text = infos.find(owner);
  if (text == nullptr) return std::nullopt;
  OwnerInfo info = parse_owner_info(*text);
  party.about = std::move(info.about);
  party.since_ms = info.since_ms;
  party.is_told = true;
  return info;
}

std::optional<Milliseconds> lease_of(const OwnerInfo& info) {
  return info.lease_ms ? std::optional(Milliseconds(*info.lease_ms)) : std::nullopt;
}

void add_holder(Snapshot& snapshot, Pairs& infos, const std::string& field,
                const std::string& value) {
  Holder& holder = snapshot.holders.emplace_back();
  if (const auto info = describe(holder, field, infos)) {
    holder.kind = info->kind;
    holder.token = info->token;
    holder.lease = lease_of(*info);
  }
  holder.count = parse_integer<std::int64_t>(value).value_or(1);
  if (snapshot.is(Shape::sides)) {
    holder.mode = field.ends_with(":write") ? Holder::Mode::write : Holder::Mode::read;
  }
}

using Field = std::pair<std::string, std::string>;

bool is_hold(const Field& field) {
  return field.first.find(':') != std::string::npos && parse_integer<std::uint64_t>(field.second);
}

// An application's hash can have a field `mode`, too.
bool is_read_write(const std::vector<Field>& hash) {
  const auto mode = std::ranges::find(hash, "mode", &Field::first);
  return hash.size() > 1 && mode != hash.end() &&
         (mode->second == "read" || mode->second == "write") &&
         std::ranges::all_of(
             hash, [](const Field& field) { return field.first == "mode" || is_hold(field); });
}

void add_holders(Snapshot& snapshot, const Replies& items, Pairs& infos) {
  const Replies& content = items[k_content].as_array();
  if (items[k_type].as_text() == "string") {
    snapshot.kind = Kind::simple;
    if (content.empty()) return;
    add_holder(snapshot, infos, content[0].as_text(), "1");
    Holder& holder = snapshot.holders.back();
    if (holder.is_told || looks_like_owner(holder.owner)) return;
    snapshot.ambiguity = Ambiguity::string;
    holder.owner = start_of(holder.owner);
  }
  if (items[k_type].as_text() != "hash") return;
  for (std::size_t i = 0; i + 1 < content.size(); i += 2) {
    snapshot.hash.emplace_back(content[i].as_text(), content[i + 1].as_text());
  }
  const bool has_mode = is_read_write(snapshot.hash);
  if (has_mode) snapshot.kind = Kind::read;
  for (const auto& [field, value] : snapshot.hash) {
    if (field != "mode" || !has_mode) add_holder(snapshot, infos, field, value);
  }
  if (!has_mode) return;
  for (const redis::Reply& reader : items[k_dead_readers].as_array()) {
    snapshot.dead_readers.push_back(reader.as_text());
  }
}

void add_permit(Snapshot& snapshot, Pairs& infos, const std::string& permit, double end) {
  constexpr auto k_for_ever_ms = static_cast<double>(lua::k_for_ever.count());
  Holder& holder = snapshot.holders.emplace_back();
  if (const auto info = describe(holder, permit, infos)) {
    holder.kind = info->kind;
    holder.lease = lease_of(*info);
  }
  // Redisson shows these bytes in hexadecimal.
  if (permit.size() == k_redisson_permit_bytes) holder.owner = to_hex(permit);
  if (end - static_cast<double>(snapshot.time_ms) > k_for_ever_ms) {
    snapshot.ttl_ms = -1;
    return;
  }
  holder.ends_ms = static_cast<std::int64_t>(end);
  if (snapshot.ttl_ms == -1) return;
  snapshot.ttl_ms = std::max(snapshot.ttl_ms.value_or(0), *holder.ends_ms - snapshot.time_ms);
}

// If the reply shows a semaphore, adds its permits and their holders, and returns true. While no
// permit is in use, a semaphore that another client created looks like a string lock.
bool add_permits(Snapshot& snapshot, const Replies& items, Pairs& infos) {
  const std::string& type = items[k_type].as_text();
  const bool has_permits = items[k_has_permits].as_integer() == 1;
  const Replies& content = items[k_content].as_array();
  const auto number = type == "string" && !content.empty()
                          ? parse_integer<std::int64_t>(content[0].as_text())
                          : std::nullopt;
  if (!number && !(type == "none" && has_permits)) return false;
  const std::string* made_with = infos.find("permits");
  if (!has_permits && made_with == nullptr) return false;

  Snapshot::Permits& permits = snapshot.permits.emplace(Snapshot::Permits{});
  if (made_with != nullptr) permits.made_with = parse_integer<std::int64_t>(*made_with);
  permits.total = number.value_or(0) + items[k_permits_out].as_integer();
  snapshot.kind = Kind::semaphore;
  snapshot.ttl_ms.reset();
  const Replies& ends = items[k_permits].as_array();
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
    const std::string& permit = ends[i].as_text();
    const double end = to_score(ends[i + 1].as_text());
    permits.ends.emplace_back(permit, end);
    if (end > static_cast<double>(snapshot.time_ms)) {
      add_permit(snapshot, infos, permit, end);
    } else {
      ++permits.ended;
    }
  }
  permits.available = number.value_or(0) + permits.ended;
  snapshot.held = !snapshot.holders.empty();
  return true;
}

// Returns whether a hash, of which each field fits a lock, has an owner that may be an
// application's.
bool is_any_hash(const Snapshot& snapshot) {
  if (!snapshot.is(Shape::hash) && !snapshot.is(Shape::sides)) return false;
  return std::ranges::any_of(snapshot.holders, [](const Holder& holder) {
    return !holder.is_told && !looks_like_field_owner(holder.owner);
  });
}

// Sets the kind if the lock's key alone does not show it.
void add_kind(Snapshot& snapshot, const std::string& type) {
  if (snapshot.kind) return;
  // An application's hash. There may still be a side key or a queue.
  const bool is_hash = type == "hash" && std::ranges::all_of(snapshot.hash, is_hold);
  snapshot.is_unknown = !is_hash && type != "none";
  if (snapshot.is_unknown) {
    std::erase_if(snapshot.holders, [](const Holder& holder) { return !holder.is_told; });
    return;
  }
  if (is_hash) snapshot.kind = Kind::reentrant;
  for (const Holder& holder : snapshot.holders) {
    const Kind kind = holder.kind.value_or(Kind::reentrant);
    if (kind != Kind::reentrant && traits_of(kind).shape == Shape::hash) snapshot.kind = kind;
  }
  if (!snapshot.queue.empty() || !snapshot.scores.empty()) snapshot.kind = Kind::fair;
}

// `listeners`: how many clients listen on the waiter's channel, if known.
std::optional<bool> is_alive(const Waiter& waiter, const std::optional<OwnerInfo>& info,
                             std::optional<std::int64_t> listeners, bool elsewhere,
                             std::int64_t now) {
  if (has_waiter_ended(waiter)) return false;
  if (info && info->due_ms) return now <= *info->due_ms;
  if (listeners && *listeners > 0) return true;
  if (!waiter.deadline_ms || *waiter.deadline_ms <= now) return false;
  if (listeners && !elsewhere) return false;
  return std::nullopt;
}

// Counts one more waiter that may be alive or dead.
void add_unknown(Snapshot& snapshot, const Waiter& waiter, bool may_ask, bool is_counted) {
  using Because = UnknownWaiters::Because;
  if (snapshot.unknown_waiters) {
    ++snapshot.unknown_waiters->waiters.count;
    return;
  }
  UnknownWaiters& unknown = snapshot.unknown_waiters.emplace();
  unknown.waiters.first = waiter.owner;
  unknown.because = snapshot.is_stale() ? Because::stale
                    : !may_ask          ? Because::not_permitted
                    : !is_counted       ? Because::beyond
                                        : Because::elsewhere;
  if (!snapshot.replication) return;
  unknown.servers = snapshot.replication->replicas;
  if (snapshot.replication->master) unknown.servers = {*snapshot.replication->master};
}

void add_waiters(Snapshot& snapshot, const Replies& items, Pairs& infos) {
  Pairs scores(items[k_scores].as_array());
  const Replies& members = items[k_queue].as_array();
  const Replies& listeners = items[k_listeners].as_array();
  const bool elsewhere = items[k_elsewhere].as_integer() == 1;
  snapshot.waiters.reserve(members.size());
  for (const redis::Reply& member : members) {
    const std::size_t place = snapshot.waiters.size();
    Waiter& waiter = snapshot.waiters.emplace_back();
    const auto info = describe(waiter, member.as_text(), infos);
    if (const std::string* score = scores.find(waiter.owner)) {
      waiter.deadline_ms = to_time(to_score(*score));
    }
    std::optional<std::int64_t> count;
    if (place < listeners.size()) count = listeners[place].as_integer();
    if (!snapshot.is_stale()) {
      waiter.alive = is_alive(waiter, info, count, elsewhere, snapshot.time_ms);
    }
    if (!waiter.alive) add_unknown(snapshot, waiter, !listeners.empty(), count.has_value());
  }
}

// Moves the texts out of the reply, because it can be long.
void add_raw_queue(Snapshot& snapshot, redis::Reply& members, redis::Reply& scores) {
  snapshot.queue.reserve(members.items.size());
  for (redis::Reply& member : members.items) snapshot.queue.push_back(std::move(member.text));
  snapshot.scores.reserve(scores.items.size() / 2);
  for (std::size_t i = 0; i + 1 < scores.items.size(); i += 2) {
    const double score = to_score(scores.items[i + 1].as_text());
    snapshot.scores.emplace_back(std::move(scores.items[i].text), score);
  }
}

// Returns how many clients listen, without `ears` and without the background watchdogs of `rlock
// acquire`, which listen for the end of their hold. Most names have one kind, and a watcher listens
// for all kinds. So the largest of the `counts` is right.
std::optional<std::size_t> count_listening(const Snapshot& snapshot, const redis::Reply& counts,
                                           Ears ears) {
  if (counts.type != redis::Reply::Type::array) return std::nullopt;
  std::int64_t most = 0;
  bool is_first = true;
  for (const redis::Reply& count : counts.as_array()) {
    const bool is_own = ears == Ears::every_release || (ears == Ears::release && is_first);
    most = std::max(most, count.as_integer() - (is_own ? 1 : 0));
    is_first = false;
  }
  for (const Holder& holder : snapshot.holders) {
    if (holder.about.listens) --most;
  }
  return static_cast<std::size_t>(std::max<std::int64_t>(most, 0));
}

Snapshot read_snapshot(const std::string& name, redis::Reply reply, Ears ears) {
  const KeyNames keys(name);
  const Replies& items = reply.as_array(k_parts);

  Snapshot snapshot;
  snapshot.name = name;
  snapshot.time_ms = parse_integer<std::int64_t>(items[k_now].as_text()).value_or(0);
  const std::string& type = items[k_type].as_text();
  snapshot.held = type != "none";
  if (snapshot.held) snapshot.ttl_ms = items[k_ttl].as_integer();
  if (!items[k_token].is_nil())
    snapshot.token = parse_integer<std::int64_t>(items[k_token].as_text());

  const auto parse = [](const redis::Reply& part) {
    return part.is_nil() ? ServerInfo() : parse_info(part.as_text());
  };
  snapshot.replication = replication_of(parse(items[k_replication]));
  snapshot.other_databases = databases_of(parse(items[k_keyspace]));

  Pairs infos(items[k_info].as_array());
  if (!add_permits(snapshot, items, infos)) add_holders(snapshot, items, infos);
  add_waiters(snapshot, items, infos);
  snapshot.listening = count_listening(snapshot, items[k_listening], ears);
  add_raw_queue(snapshot, reply.items[k_queue], reply.items[k_scores]);
  add_kind(snapshot, type);
  if (is_any_hash(snapshot)) snapshot.ambiguity = Ambiguity::hash;
  snapshot.problems = find_problems(snapshot,
                                    {{keys.lock, type},
                                     {keys.queue, items[k_queue_type].as_text()},
                                     {keys.scores, items[k_scores_type].as_text()},
                                     {keys.info, items[k_info_type].as_text()},
                                     {keys.token, items[k_token_type].as_text()}},
                                    items[k_token_ttl].as_integer());
  return snapshot;
}

}  // namespace

const char* mode_name(Holder::Mode mode) {
  if (mode == Holder::Mode::exclusive) return "exclusive";
  return mode == Holder::Mode::read ? "read" : "write";
}

bool has_ended(const Party& party) {
  return is_running(party.about.pid, party.about.process) == false;
}

bool has_waiter_ended(const Party& waiter) {
  const auto runs = is_running(waiter.about.pid, waiter.about.process);
  if (runs != true) return runs == false;
  // The process that waits has made the owner, on the same host.
  const auto pid = parse_integer<pid_t>(waiter.owner.substr(waiter.owner.rfind(':') + 1));
  return pid && *pid > 0 && ::kill(*pid, 0) != 0 && errno == ESRCH;
}

std::size_t Snapshot::dead_waiters() const {
  return static_cast<std::size_t>(std::ranges::count(waiters, false, &Waiter::alive));
}

std::optional<std::size_t> Snapshot::waiting() const {
  if (!listening && waiters.empty()) return std::nullopt;
  return waiters.size() + listening.value_or(0);
}

Snapshot take_snapshot(redis::Client& client, const std::string& name, Ears ears) {
  return read_snapshot(name, request_snapshot(client, name), ears);
}

void take_snapshots(redis::Client& client, const std::vector<std::string>& names,
                    const std::function<void(const std::optional<Snapshot>&)>& use) {
  std::optional<redis::ServerError> unread;
  for (std::span<const std::string> left = names; !left.empty();) {
    const auto some = left.first(std::min(k_at_once, left.size()));
    left = left.subspan(some.size());
    Replies replies = request_snapshots(client, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (!replies[i].is_error()) {
        use(read_snapshot(some[i], std::move(replies[i]), Ears::none));
        continue;
      }
      const redis::ServerError error(client.options().endpoint.display(), replies[i].text);
      if (error.code() == "TRYAGAIN") {  // the slot is being moved
        unread = error;
        continue;
      }
      // The keys of a name such as "a{b" lie in several slots of a cluster.
      if (error.status() != ExitStatus::permission && error.code() != "CROSSSLOT") throw error;
      use(std::nullopt);
    }
  }
  if (unread) throw redis::ServerError(*unread);
}

}  // namespace rlock::lock
