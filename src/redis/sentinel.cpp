#include "redis/sentinel.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "base/integer.hpp"
#include "redis/server_error.hpp"
#include "redis/survey.hpp"

namespace rlock::redis {
namespace {

// How long the other sentinels have when enough of them have answered.
constexpr Milliseconds k_for_the_others{100};
constexpr Milliseconds k_pause_between_rounds{100};

// Whom a sentinel calls the master, and as of which failover.
struct Appointment {
  HostAndPort node;
  std::int64_t epoch = 0;
  bool operator==(const Appointment&) const = default;
};

// The answer of one sentinel. Nothing means that it does not know the name.
using Opinion = std::optional<Appointment>;

Opinion ask_as(const ConnectionOptions& options, const HostAndPort& sentinel,
               const Patience& patience) {
  ConnectionOptions sentinels = options;
  sentinels.endpoint.database = 0;
  const auto connection = connect_node(sentinels, sentinel, patience);
  const std::string& name = options.endpoint.master;
  // The order matters during a failover. The result is at worst the new master with the old epoch,
  // never the old master with the new epoch.
  const Reply details = connection->command({"SENTINEL", "MASTER", name}, patience);
  const Reply address =
      connection->command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name}, patience);
  const std::string url = sentinels.endpoint.of(sentinel).display();
  if (address.is_error()) {
    if (!address.text.starts_with("ERR unknown command")) throw ServerError(url, address.text);
    throw Error(ExitStatus::config, url + ": not a sentinel, but a server: use redis://");
  }
  if (address.is_nil()) return std::nullopt;
  const auto& parts = address.as_array(2);
  const auto port = parse_integer<std::uint16_t>(parts[1].as_text());
  if (port.value_or(0) == 0) throw ProtocolError("a master without a port");
  Appointment said{{parts[0].as_text(), *port}};
  for (std::size_t i = 0; i + 1 < details.items.size(); i += 2) {
    if (details.items[i].text != "config-epoch") continue;
    said.epoch = parse_integer<std::int64_t>(details.items[i + 1].text).value_or(0);
  }
  return said;
}

// A sentinel need not have the servers' users: it gets a password only if it asks for one.
Opinion ask(const ConnectionOptions& options, const HostAndPort& sentinel,
            const Patience& patience) {
  ConnectionOptions anonymous = options;
  anonymous.endpoint.credentials = {};
  try {
    return ask_as(anonymous, sentinel, patience);
  } catch (const ServerError& error) {
    if (error.code() != "NOAUTH" || options.endpoint.credentials.password.empty()) throw;
  }
  return ask_as(options, sentinel, patience);
}

// Returns the highest epoch of a group that this process has heard of, `heard` now.
std::int64_t newest_epoch(const Endpoint& whole, const std::vector<Appointment>& heard) {
  static std::mutex mutex;
  static std::map<std::string, std::int64_t> newest;
  const std::lock_guard guard(mutex);
  std::int64_t& epoch = newest[whole.display()];
  for (const Appointment& one : heard) epoch = std::max(epoch, one.epoch);
  return epoch;
}

// Returns the master that most sentinels name, among the sentinels that know the last failover. A
// sentinel that was cut off names a deposed master. That may still run, and grant locks that the
// new master has granted.
std::optional<Appointment> choose(const std::vector<Appointment>& said, std::int64_t epoch,
                                  std::string& why) {
  const Appointment* chosen = nullptr;
  std::ptrdiff_t most = 0;
  bool is_tie = false;
  for (const Appointment& one : said) {
    if (one.epoch != epoch) continue;
    const auto votes = std::ranges::count(said, one);
    if (votes > most) {
      chosen = &one;
      most = votes;
      is_tie = false;
    } else if (votes == most && one != *chosen) {
      is_tie = true;
    }
  }
  if (chosen != nullptr && !is_tie) return *chosen;
  why = is_tie ? "the sentinels do not agree on a master"
               : "no sentinel that answered knows of the last failover";
  return std::nullopt;
}

// True for the answer of a server that takes no writes, for now at least.
bool is_replica(const Reply& role) {
  return role.type == Reply::Type::array && role.as_array(1)[0].as_text() != "master";
}

// What became of the question for the master.
struct Answers {
  std::vector<Appointment> said;
  bool is_unknown = false;             // to some sentinel
  bool are_all = false;                // no sentinel is still silent
  std::optional<std::string> silence;  // of the first that is unavailable
  std::exception_ptr refusal;          // of the first that fails otherwise
};

// Asks all sentinels, until all have answered or failed, or a majority has answered. From
// `any_counts` on, a single answer is enough.
Answers ask_all(const ConnectionOptions& options, const Patience& patience, TimePoint any_counts) {
  Survey<Opinion> survey(std::bind_front(ask, options), patience);
  for (const HostAndPort& sentinel : options.endpoint.seeds) survey.ask(sentinel);
  Answers answers;
  TimePoint until = patience.deadline;
  while (auto result = survey.next(until)) {
    if (result->silence) {
      if (!answers.silence) answers.silence = result->silence;
    } else if (result->refusal) {
      if (!answers.refusal) answers.refusal = result->refusal;
    } else if (!*result->answer) {
      answers.is_unknown = true;
    } else {
      answers.said.push_back(**result->answer);
      const bool are_most = answers.said.size() > options.endpoint.seeds.size() / 2;
      const TimePoint soon = after(BootClock::now(), k_for_the_others);
      until = std::min(until, are_most ? soon : std::max(soon, any_counts));
    }
  }
  answers.are_all = survey.pending() == 0;
  return answers;
}

// Returns where the sentinels say the master is, or nothing, and why, if that is not clear now.
std::optional<Appointment> find_master(const ConnectionOptions& options, const Patience& patience,
                                       TimePoint any_counts, std::string& why) {
  const auto [said, is_unknown, are_all, silence, refusal] = ask_all(options, patience, any_counts);
  if (!said.empty()) return choose(said, newest_epoch(options.endpoint, said), why);
  const std::string whole = options.endpoint.display();
  const bool all_answered = !silence && are_all;
  if (refusal && (all_answered || !is_unknown)) std::rethrow_exception(refusal);
  if (is_unknown) {
    const std::string unknown = whole + ": no sentinel knows a master called " +
                                escape_for_terminal(options.endpoint.master);
    if (all_answered) throw Error(ExitStatus::config, unknown);
    throw Unavailable(unknown + ", and some do not answer");
  }
  throw Unavailable(whole + ": no sentinel answers" +
                    (silence ? ": " + *silence : " " + in_time(patience)));
}

}  // namespace

Master connect_master(const ConnectionOptions& options, const Patience& patience) {
  const TimePoint asked = BootClock::now();
  const TimePoint any_counts = asked + (patience.deadline - asked) / 2;
  std::string why;
  const auto give_up = [&] { throw Unavailable(options.endpoint.display() + ": " + why); };
  while (true) {
    std::optional<Appointment> named;
    try {
      named = find_master(options, patience, any_counts, why);
    } catch (const Unavailable&) {
      if (why.empty()) throw;
      give_up();  // they have answered before: time has run out
    }
    if (named) {
      try {
        // A master that is dead or cut off must leave time to ask for another.
        const Patience half = half_of(patience);
        auto connection = connect_node(options, named->node, half);
        const Reply role = connection->command({"ROLE"}, half);
        if (!is_replica(role)) return {named->node, named->epoch, std::move(connection)};
        why = "the master is down: " + options.endpoint.of(named->node).display() + " is a replica";
      } catch (const Unavailable& error) {
        // What a server has answered tells more.
        if (why.empty()) why = std::string("the master is down: ") + error.what();
      }
    }
    if (after(BootClock::now(), k_pause_between_rounds) >= patience.deadline) give_up();
    pause({after(BootClock::now(), k_pause_between_rounds), patience.wake_fd});
  }
}

void hear_of_failovers(const ConnectionOptions& options, const Patience& patience) {
  const Answers answers = ask_all(options, patience, half_of(patience).deadline);
  newest_epoch(options.endpoint, answers.said);
  if (!answers.said.empty()) return;
  const std::string whole = options.endpoint.display();
  if (answers.silence) throw Unavailable(whole + ": no sentinel answers: " + *answers.silence);
  try {
    if (answers.refusal) std::rethrow_exception(answers.refusal);
  } catch (const Error& error) {
    throw Unavailable(whole + ": no sentinel answers: " + error.what());
  }
  throw Unavailable(whole + ": no sentinel names the master " + in_time(patience));
}

bool is_outdated(const Endpoint& whole, std::int64_t epoch) {
  return newest_epoch(whole, {}) > epoch;
}

}  // namespace rlock::redis
