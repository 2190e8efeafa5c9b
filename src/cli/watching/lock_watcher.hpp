// A thread that looks at locks, and reports what happens to them and to the server.
#pragma once

#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/fd.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/settings/globals.hpp"
#include "cli/watching/lock_follower.hpp"
#include "redis/client.hpp"
#include "redis/subscription.hpp"

namespace rlock::cli {

struct Looked {
  std::size_t lock = 0;  // the index of its name
  SnapshotPtr snapshot;
  std::vector<ProblemText> problems;  // of the snapshot
  TimePoint at{};                     // when the snapshot came
  std::vector<LockEvent> events;
  std::vector<std::string> warnings;  // about the server and the name, with the first snapshot
};

struct Away {
  bool begins;  // false: it goes on, for another reason
  TimePoint since;
  std::string why;
};

// The server is back. A Looked for every lock follows.
struct Back {
  std::string message;
};

using News = std::variant<Looked, Away, Back>;

// Looks at a lock when a message says that it changed, and every second, or every 5 s if the server
// publishes changes of keys (keyspace notifications). Never looks twice within a second.
class LockWatcher {
 public:
  struct Options {
    redis::ClientOptions client;     // must allow large replies. Its wake_fd is not used
    std::vector<std::string> names;  // without duplicates
    TimePoint end;                   // a last look is shortly before this moment
    Globals globals;                 // for the commands in messages
  };

  // Starts the thread.
  explicit LockWatcher(Options options);
  LockWatcher(const LockWatcher&) = delete;
  LockWatcher& operator=(const LockWatcher&) = delete;
  ~LockWatcher();

  // Returns a descriptor that is readable when there is news.
  [[nodiscard]] int fd() const noexcept { return ready_.fd(); }
  // Returns the news, in order. When an error has ended the thread, throws it after the last news:
  // an Error of a server that was never reached, or that refuses permanently.
  [[nodiscard]] std::vector<News> take();

 private:
  enum class Source { release, other_release, lock_key, other_key };
  struct Followed {
    std::string name;
    LockFollower follower{};
    TimePoint looked{};
    TimePoint lease_end = TimePoint::max();
    bool changed = false;
  };
  using Listeners = std::multimap<std::string, std::pair<Source, std::size_t>>;

  void run() noexcept;
  void follow();
  void connect();
  void subscribe(const std::vector<std::string>& releases, const std::vector<std::string>& others);
  void listen();
  void look_at_due();
  Looked look(std::size_t index, const std::string& message);
  [[nodiscard]] TimePoint due(const Followed& lock) const;
  [[nodiscard]] bool is_backed_up() const;
  void report_outage(const Error& error);
  void tell(std::vector<News> news);

  Options options_;
  Event stop_;
  Event ready_;
  redis::Client client_;
  std::optional<redis::Subscription> subscription_;
  lock::Ears ears_ = lock::Ears::none;
  std::vector<Followed> locks_;
  Listeners listeners_;
  bool hears_keys_ = false;
  bool was_there_ = false;
  std::string run_id_;  // of the server's process. Empty if unknown
  TimePoint asked_;     // when it last began to listen and to ask
  std::optional<TimePoint> away_since_;
  std::string away_why_;
  mutable std::mutex mutex_;
  std::vector<News> news_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace rlock::cli
