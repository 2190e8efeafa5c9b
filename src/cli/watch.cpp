// rlock watch: follows locks live, one event a line.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/time.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/literal_words.hpp"
#include "cli/lock_follower.hpp"
#include "cli/message.hpp"
#include "cli/snapshot_json.hpp"
#include "cli/status_line.hpp"
#include "cli/taking.hpp"
#include "lock/key_names.hpp"
#include "lock/snapshot.hpp"
#include "redis/server_error.hpp"
#include "redis/subscription.hpp"

namespace rlock::cli {
namespace {

using Json = nlohmann::ordered_json;
using lock::Snapshot;

constexpr Milliseconds k_interval{1000};
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}

  void event(const LockEvent& event, const Snapshot& snapshot) const {
    const std::string& what = event.what;
    const lock::Party& party = event.party;
    const bool is_of_queue = what == "queued" || what == "left";
    if (json_) {
      Json json = start(snapshot.time_ms, snapshot.name, what);
      if (what == "state") json["state"] = snapshot.held ? "held" : "free";
      json["owner"] = party.owner.empty() ? Json(nullptr) : Json(to_utf8(party.owner));
      json["host"] = party.about ? Json(to_utf8(party.about->host)) : Json(nullptr);
      json["pid"] = party.about ? Json(party.about->pid) : Json(nullptr);
      json["command"] = party.about ? Json(to_utf8(party.about->command)) : Json(nullptr);
      json["ttl_ms"] = snapshot.ttl_ms ? Json(*snapshot.ttl_ms) : Json(nullptr);
      if (what == "queued") json["position"] = event.position;
      json["waiters"] = snapshot.waiters.size();
      print(json.dump() + "\n");
      return;
    }
    std::string text = what;
    if (text == "state") text = snapshot.held ? "is held" : "is free";
    if (!party.owner.empty()) {
      text += " by " + describe_holder(party.owner, party.about.value_or(lock::About{}));
    }
    const std::int64_t ttl = snapshot.ttl_ms.value_or(0);
    if (!is_of_queue && ttl > 0) text += ", expires in " + format_duration(Milliseconds(ttl));
    if (!is_of_queue && ttl < 0) text += ", without an expiry";
    if (what == "queued") text += ", place " + std::to_string(event.position);
    if (is_of_queue || what == "state") {
      const std::size_t waiters = snapshot.waiters.size();
      if (waiters > 0 || is_of_queue) text += ", " + std::to_string(waiters) + " waiting";
    }
    line(snapshot.time_ms, snapshot.name, text);
  }

  void error(const std::string& name, const std::string& why) const {
    timeval now{};
    ::gettimeofday(&now, nullptr);
    const std::int64_t time_ms = std::int64_t{now.tv_sec} * 1000 + now.tv_usec / 1000;
    if (!json_) return line(time_ms, name, "error: " + why);
    Json json = start(time_ms, name, "error");
    json["message"] = to_utf8(why);
    print(json.dump() + "\n");
  }

 private:
  static Json start(std::int64_t time_ms, const std::string& name, const std::string& what) {
    return {{"time_ms", time_ms}, {"name", to_utf8(name)}, {"event", what}};
  }

  static void line(std::int64_t time_ms, const std::string& name, const std::string& text) {
    const time_t seconds = time_ms / 1000;
    tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> when{};
    ::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::array<char, 8> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(time_ms % 1000));
    print(std::string(when.data()) + fraction.data() + " " + escape_for_terminal(name) + " " +
          text + "\n");
  }

  bool json_;
};

class Watch {
 public:
  Watch(const redis::ClientOptions& options, const std::vector<std::string>& names, bool json)
      : options_(options), client_(options), printer_(json) {
    for (const std::string& name : names) followers_.emplace_back(name);
  }

  // Follows the locks until the wake descriptor says that it is enough: throws Interrupted. A
  // server that goes away is an event, unless it was never there.
  void run() {
    bool seen = false;
    while (true) {
      try {
        std::vector<std::string> channels;
        for (const LockFollower& follower : followers_) channels.push_back(follower.channel());
        redis::Subscription subscription(options_, channels);
        look_at_all();
        seen = true;
        outage_told_ = false;
        while (true) follow(subscription);
      } catch (const Error& error) {
        if (!seen || !error.is_temporary()) throw;
        tell_outage(error);
      }
      redis::pause({after(BootClock::now(), k_interval), options_.wake_fd});
    }
  }

 private:
  // Looks at a lock at once when a message comes, and at all of them once a second.
  void follow(redis::Subscription& subscription) {
    const TimePoint next = after(BootClock::now(), k_interval);
    while (BootClock::now() < next) {
      for (const std::string& channel : subscription.drain()) {
        for (LockFollower& follower : followers_) {
          if (follower.channel() != channel) continue;
          follower.message_came();
          look(follower);
        }
      }
      [[maybe_unused]] const bool ready =
          redis::wait_for(subscription.fd(), POLLIN, {next, options_.wake_fd});
    }
    end_if_unread();
    look_at_all();
  }

  void look(LockFollower& follower) {
    for (const LockEvent& event : follower.look(lock::take_snapshot(client_, follower.name()))) {
      printer_.event(event, follower.last());
    }
  }

  void look_at_all() {
    for (LockFollower& follower : followers_) look(follower);
  }

  void tell_outage(const Error& error) {
    if (outage_told_) return;
    for (const LockFollower& follower : followers_) printer_.error(follower.name(), error.what());
    outage_told_ = true;
  }

  redis::ClientOptions options_;
  redis::Client client_;
  Printer printer_;
  std::vector<LockFollower> followers_;
  bool outage_told_ = false;
};

int run_watch(const Globals& globals, const std::vector<std::string>& names) {
  for (const std::string& name : names) lock::check_name(name);
  redis::ClientOptions options = globals.client_options();
  options.reply_limit = redis::k_large_reply;
  process::Signals signals;
  options.wake_fd = signals.fd();
  try {
    Watch(options, names, globals.json).run();
  } catch (const redis::Interrupted&) {
  }
  return end_by_signal(signal_to_end(signals).value_or(process::Signal{SIGTERM}));
}

}  // namespace

Action set_up_watch(CLI::App& command, const Invocation& invocation) {
  const auto names = std::make_shared<std::vector<std::string>>();
  set_usage(command, "rlock watch [OPTIONS] NAME...");
  unprotect(*command.add_option("NAME", *names, "Names of the locks")->required());
  return [&invocation, names] { return run_watch(invocation.globals, *names); };
}

}  // namespace rlock::cli
