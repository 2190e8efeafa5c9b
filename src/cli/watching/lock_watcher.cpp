#include "cli/watching/lock_watcher.hpp"

#include <algorithm>
#include <iterator>
#include <poll.h>
#include <string_view>
#include <utility>

#include "base/duration.hpp"
#include "base/quiet_thread.hpp"
#include "base/shell_quote.hpp"
#include "cli/output/remedy.hpp"
#include "cli/output/view_text.hpp"
#include "lock/words/key_names.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

// The time between two looks at a lock: 1 s at least, and at most 1 s, or 5 s with notifications.
constexpr Milliseconds k_shortest_interval{1000};
constexpr Milliseconds k_interval_with_notifications{5000};
constexpr Milliseconds k_pause_in_outage{1000};
constexpr Milliseconds k_before_end{100};

// Returns whether the server publishes every change of a lock's keys (notify-keyspace-events with
// K, and with A or g, h, x, l and z). Returns false if the user is not allowed to ask for this
// setting.
bool notifies_of_locks(redis::Client& client) {
  const redis::Reply reply = client.command({"CONFIG", "GET", "notify-keyspace-events"});
  if (reply.type != redis::Reply::Type::array || reply.items.size() < 2) return false;
  const std::string& flags = reply.items[1].text;
  const auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
  constexpr std::string_view k_needed = "ghxlz";
  return has('K') && (has('A') || std::ranges::all_of(k_needed, has));
}

// `is_group`: other servers can replace this server.
std::string describe_return(TimePoint since, const std::string& before, const std::string& now,
                            bool is_group) {
  const auto span = std::chrono::floor<Milliseconds>(BootClock::now() - since);
  std::string text = "the server is back after " + format_duration(span);
  if (!before.empty() && !now.empty() && before != now) {
    text += is_group ? ": it has restarted, or another server is the master now"
                     : ", and has restarted";
  }
  return text;
}

// Throws Error (unavailable) if the snapshot comes from a replica without news from its master:
// what happens to a lock cannot be followed there.
void check_view(const lock::Snapshot& snapshot, const Remedies& remedies) {
  if (!snapshot.is_stale()) return;
  const lock::Replication::Address& master = *snapshot.replication->master;
  throw Error(
      ExitStatus::unavailable,
      remedies.server().display() + ": " + describe_replica(*snapshot.replication) +
          "; ask the master: " +
          remedies.rlock_at(master.host, master.port, "watch " + shell_operands({snapshot.name}))
              .text);
}

}  // namespace

LockWatcher::LockWatcher(Options options) : options_(std::move(options)), client_(options_.client) {
  options_.client.wake_fd = stop_.fd();
  client_.set_wake_fd(stop_.fd());
  // The channel on which the changes of a key are published begins with it.
  const std::string changes =
      "__keyspace@" + std::to_string(options_.client.endpoint.database) + "__:";
  for (const std::string& name : options_.names) {
    const lock::KeyNames keys(name);
    const auto listen_to = [&](const std::string& channel, Source source) {
      listeners_.emplace(channel, std::pair(source, locks_.size()));
    };
    listen_to(keys.channel, Source::release);
    listen_to(keys.read_write_channel, Source::other_release);
    listen_to(keys.semaphore_channel, Source::other_release);
    listen_to(changes + keys.lock, Source::lock_key);
    for (const std::string& key : {keys.queue, keys.scores, keys.permits}) {
      listen_to(changes + key, Source::other_key);
    }
    locks_.push_back({name});
  }
  thread_ = start_quiet_thread([this] { run(); });
}

LockWatcher::~LockWatcher() {
  stop_.raise();
  thread_.join();
}

std::vector<News> LockWatcher::take() {
  const std::lock_guard guard(mutex_);
  if (news_.empty() && failure_) std::rethrow_exception(failure_);
  if (!failure_) ready_.clear();
  return std::exchange(news_, {});
}

void LockWatcher::tell(std::vector<News> news) {
  const std::lock_guard guard(mutex_);
  std::move(news.begin(), news.end(), std::back_inserter(news_));
  ready_.raise();
}

void LockWatcher::run() noexcept {
  try {
    while (true) {
      try {
        connect();
        while (true) follow();
      } catch (const Error& error) {
        if (!was_there_ || !error.is_temporary()) throw;
        report_outage(error);
      }
      redis::pause({after(BootClock::now(), k_pause_in_outage), stop_.fd()});
    }
  } catch (const redis::Interrupted&) {  // it is enough
  } catch (...) {
    const std::lock_guard guard(mutex_);
    failure_ = std::current_exception();
    ready_.raise();
  }
}

// Tells of an outage, once for each cause.
void LockWatcher::report_outage(const Error& error) {
  subscription_.reset();
  client_.disconnect();
  const bool begins = !away_since_;
  const std::string why = error.what();
  if (!begins && away_why_ == why) return;
  if (begins) away_since_ = asked_;  // what was asked then has had no answer
  away_why_ = why;
  tell({Away{begins, *away_since_, away_why_}});
}

// Without the right to listen to the `others`, their ends are seen at the next look.
void LockWatcher::subscribe(const std::vector<std::string>& releases,
                            const std::vector<std::string>& others) {
  std::vector<std::string> all = releases;
  all.insert(all.end(), others.begin(), others.end());
  try {
    subscription_.emplace(options_.client, all);
    ears_ = lock::Ears::every_release;
  } catch (const redis::ServerError& error) {
    if (error.status() != ExitStatus::permission) throw;
    subscription_.emplace(options_.client, releases);
    ears_ = lock::Ears::release;
  }
}

// Subscribes, and then looks at every lock, so that nothing is missed between the two.
void LockWatcher::connect() {
  asked_ = BootClock::now();
  std::map<Source, std::vector<std::string>> channels;
  std::vector<std::string> keys;
  for (const auto& [channel, listener] : listeners_) {
    const bool is_key = listener.first == Source::lock_key || listener.first == Source::other_key;
    (is_key ? keys : channels[listener.first]).push_back(channel);
  }
  subscribe(channels[Source::release], channels[Source::other_release]);
  // Nodes of a cluster publish changes of their own keys only, and each has another run_id.
  hears_keys_ = !client_.is_cluster() && notifies_of_locks(client_) && subscription_->add(keys);
  const std::string before = std::exchange(
      run_id_, client_.is_cluster() ? "" : redis::run_id_in(client_.command({"INFO", "server"})));
  const bool is_group = options_.client.endpoint.transport == redis::Endpoint::Transport::sentinel;
  const std::string message =
      away_since_ ? describe_return(*away_since_, before, run_id_, is_group) : std::string();
  std::vector<News> news;
  if (away_since_) news.emplace_back(Back{message});
  for (std::size_t i = 0; i < locks_.size(); ++i) news.emplace_back(look(i, message));
  away_since_.reset();
  was_there_ = true;
  tell(std::move(news));
}

// Waits for a message or for a look that is due.
void LockWatcher::follow() {
  asked_ = BootClock::now();
  redis::pause({asked_, stop_.fd()});  // messages that come without an end hide the stop
  listen();
  if (is_backed_up()) {
    redis::pause({after(BootClock::now(), k_shortest_interval), stop_.fd()});
    return;
  }
  look_at_due();
  TimePoint next = TimePoint::max();
  for (const Followed& lock : locks_) next = std::min(next, due(lock));
  (void)redis::wait_for(subscription_->fd(), POLLIN, {next, stop_.fd()});
}

void LockWatcher::listen() {
  for (const redis::Message& message : subscription_->drain()) {
    if (lock::tells_of_taking(message.channel, message.text)) continue;
    const auto [first, last] = listeners_.equal_range(message.channel);
    for (auto listener = first; listener != last; ++listener) {
      const auto [source, index] = listener->second;
      Followed& lock = locks_[index];
      lock.changed = true;
      const bool expired = source == Source::lock_key && message.text == "expired";
      const bool deleted = source == Source::lock_key && message.text == "del";
      if (expired) lock.follower.hear(LockFollower::End::expired);
      // In a cluster, a message may come twice.
      if (source == Source::release && !client_.is_cluster()) {
        lock.follower.hear_release();
      } else if (deleted || source == Source::release || source == Source::other_release) {
        lock.follower.hear(LockFollower::End::released);
      }
    }
  }
}

void LockWatcher::look_at_due() {
  const TimePoint now = BootClock::now();
  std::vector<News> news;
  for (std::size_t i = 0; i < locks_.size(); ++i) {
    if (due(locks_[i]) <= now) news.emplace_back(look(i, ""));
  }
  if (!news.empty()) tell(std::move(news));
}

Looked LockWatcher::look(std::size_t index, const std::string& message) {
  Followed& lock = locks_[index];
  listen();
  lock.changed = false;
  lock.follower.begin_look();
  auto snapshot =
      std::make_shared<const lock::Snapshot>(lock::take_snapshot(client_, lock.name, ears_));
  const Remedies remedies(options_.globals, client_);
  check_view(*snapshot, remedies);
  auto problems = describe_problems(snapshot->problems, *snapshot, remedies);
  std::vector<std::string> warnings;
  if (lock.looked == TimePoint{}) warnings = describe_view(*snapshot, remedies);
  const TimePoint now = BootClock::now();
  // What had been said before the snapshot was taken belongs to what it shows.
  listen();
  lock.looked = now;
  const std::int64_t ttl = snapshot->ttl_ms.value_or(-1);
  lock.lease_end = ttl < 0 ? TimePoint::max() : after(now, Milliseconds(ttl + 1));
  auto events = lock.follower.look(snapshot, message);
  return {index, std::move(snapshot), std::move(problems),
          now,   std::move(events),   std::move(warnings)};
}

TimePoint LockWatcher::due(const Followed& lock) const {
  const TimePoint first = after(lock.looked, k_shortest_interval);
  if (lock.changed || !hears_keys_) return first;
  TimePoint when = std::min(after(lock.looked, k_interval_with_notifications), lock.lease_end);
  const TimePoint last_look = options_.end - k_before_end;
  if (lock.looked < last_look) when = std::min(when, last_look);
  return std::max(first, when);
}

// Returns whether nobody takes the news: a reader that has stopped to read, say.
bool LockWatcher::is_backed_up() const {
  const std::lock_guard guard(mutex_);
  return news_.size() > 2 * locks_.size() + 2;
}

}  // namespace rlock::cli
