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

// The master that a sentinel names, and the failover that made it the master.
struct Appointment {
  MasterAddress master;
  std::int64_t epoch = 0;
};

// The answer of one sentinel. Nothing means that it does not know the name.
using Opinion = std::optional<Appointment>;

bool is_same(const MasterAddress& one, const MasterAddress& other) {
  if (one.node.port != other.node.port) return false;
  return one.node.host == other.node.host ||
         std::ranges::any_of(one.numbers, [&](const std::string& number) {
           return std::ranges::find(other.numbers, number) != other.numbers.end();
         });
}

Opinion ask_as(const ConnectionOptions& options, const HostAndPort& sentinel,
               const Deadline& deadline) {
  ConnectionOptions sentinels = options;
  sentinels.endpoint.database = 0;
  const auto connection = connect_node(sentinels, sentinel, deadline);
  const std::string& name = options.endpoint.master;
  // The order matters during a failover. The result is at worst the new master with the old epoch,
  // never the old master with the new epoch.
  const Reply details = connection->command({"SENTINEL", "MASTER", name}, deadline);
  const Reply address =
      connection->command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name}, deadline);
  const std::string url = sentinels.endpoint.of(sentinel).display();
  if (address.is_error()) {
    if (!address.text.starts_with("ERR unknown command")) throw ServerError(url, address.text);
    throw Error(ExitStatus::config, url + ": not a sentinel, but a server: use redis://");
  }
  if (address.is_nil()) return std::nullopt;
  const auto& parts = address.as_array(2);
  const auto port = parse_integer<std::uint16_t>(parts[1].as_text());
  if (port.value_or(0) == 0) throw ProtocolError("a master without a port");
  Appointment said{{{parts[0].as_text(), *port}, {}}};
  try {  // one sentinel may name the host, and another its address
    said.master.numbers = addresses_of(options.endpoint.of(said.master.node), deadline);
  } catch (const Unavailable&) {  // then the name alone counts
  }
  for (std::size_t i = 0; i + 1 < details.items.size(); i += 2) {
    if (details.items[i].text != "config-epoch") continue;
    said.epoch = parse_integer<std::int64_t>(details.items[i + 1].text).value_or(0);
  }
  return said;
}

// A sentinel need not have the servers' users: it gets a password only if it asks for one.
Opinion ask(const ConnectionOptions& options, const HostAndPort& sentinel,
            const Deadline& deadline) {
  ConnectionOptions anonymous = options;
  anonymous.endpoint.credentials = {};
  try {
    return ask_as(anonymous, sentinel, deadline);
  } catch (const ServerError& error) {
    if (error.code() != "NOAUTH" || options.endpoint.credentials.password.empty()) throw;
  }
  return ask_as(options, sentinel, deadline);
}

// The answers of sentinels, by their addresses.
using Said = std::map<std::string, Appointment>;

// The master that most of the answers name (null: there is no answer), and how many do.
struct Winner {
  const Appointment* appointment = nullptr;
  std::size_t votes = 0;
};

Winner count(const Said& said) {
  Winner winner;
  for (const auto& answer : said) {
    const Appointment& one = answer.second;
    const auto votes = static_cast<std::size_t>(std::ranges::count_if(
        said, [&](const auto& other) { return is_same(other.second.master, one.master); }));
    if (votes > winner.votes) winner = {&one, votes};
  }
  return winner;
}

// What this process knows of a group.
struct Known {
  std::optional<MasterAddress> master;
  TimePoint asked;                             // when those who named it were asked
  bool is_of_majority = false;                 // that named it, or the master before it
  std::map<std::string, std::int64_t> epochs;  // of the sentinels that have named it
};

// Calls `use` with what this process knows of a group. Returns as `use`.
bool with_known(const Endpoint& whole, const std::function<bool(Known&)>& use) {
  static std::mutex mutex;
  static std::map<std::string, Known> groups;
  const std::lock_guard guard(mutex);
  return use(groups[whole.display()]);
}

// Notes that the sentinels have named `winner`, a majority of them or too few. Returns whether that
// counts. A deposed master may still run, and grant locks that the new master has granted. So older
// answers, and sentinels that may have been cut off, change nothing.
bool note(Known& known, const Winner& winner, const Said& said, TimePoint asked, bool are_most) {
  const MasterAddress& named = winner.appointment->master;
  const bool is_known = known.master && is_same(*known.master, named);
  if (known.master && !is_known) {
    const auto has_moved_on = [&](const auto& answer) {
      const auto before = known.epochs.find(answer.first);
      return is_same(answer.second.master, named) && before != known.epochs.end() &&
             before->second < answer.second.epoch;
    };
    if (asked < known.asked) return false;
    if (!are_most && known.is_of_majority && std::ranges::none_of(said, has_moved_on)) return false;
    known.epochs.clear();
  }
  known.master = named;
  known.asked = std::max(known.asked, asked);
  known.is_of_majority = known.is_of_majority || are_most;
  for (const auto& [sentinel, one] : said) {
    if (is_same(one.master, named)) known.epochs[sentinel] = one.epoch;
  }
  return true;
}

// True for the answer of a server that takes no writes, for now at least.
bool is_replica(const Reply& role) {
  return role.type == Reply::Type::array && role.as_array(1)[0].as_text() != "master";
}

// What became of the question for the master.
struct Answers {
  TimePoint asked;
  Said said;
  bool is_unknown = false;             // to some sentinel
  bool are_all = false;                // no sentinel is still silent
  std::optional<std::string> silence;  // of the first that is unavailable
  std::exception_ptr refusal;          // of the first that fails otherwise
};

bool are_majority(std::size_t votes, std::size_t sentinels) { return votes > sentinels / 2; }

// Asks all sentinels, until a majority names the same master, or all have answered or failed. If a
// majority has answered, or from `any_counts` on, does not wait long for the others.
Answers ask_all(const ConnectionOptions& options, const Deadline& deadline, TimePoint any_counts) {
  const std::size_t sentinels = options.endpoint.seeds.size();
  Survey<Opinion> survey(std::bind_front(ask, options), deadline);
  Answers answers;
  answers.asked = BootClock::now();
  for (const HostAndPort& sentinel : options.endpoint.seeds) survey.ask(sentinel);
  TimePoint until = deadline.when;
  while (auto result = survey.next(until)) {
    if (result->silence) {
      if (!answers.silence) answers.silence = result->silence;
    } else if (result->refusal) {
      if (!answers.refusal) answers.refusal = result->refusal;
    } else if (!*result->answer) {
      answers.is_unknown = true;
    } else {
      answers.said.emplace(result->server.display(), **result->answer);
      if (are_majority(count(answers.said).votes, sentinels)) break;
      const TimePoint soon = after(BootClock::now(), k_for_the_others);
      const bool are_most = are_majority(answers.said.size(), sentinels);
      until = std::min(until, are_most ? soon : std::max(soon, any_counts));
    }
  }
  answers.are_all = survey.pending() == 0;
  return answers;
}

// Returns where the sentinels say the master is, or nothing, and why, if that is not clear now.
std::optional<MasterAddress> find_master(const ConnectionOptions& options, const Deadline& deadline,
                                         TimePoint any_counts, std::string& why) {
  const Answers answers = ask_all(options, deadline, any_counts);
  const std::string whole = options.endpoint.display();
  if (const Winner winner = count(answers.said); winner.appointment != nullptr) {
    const bool are_most = are_majority(winner.votes, options.endpoint.seeds.size());
    const bool any_count = answers.are_all || BootClock::now() >= any_counts;
    if (!are_most && !(any_count && are_majority(winner.votes, answers.said.size()))) {
      why = "the sentinels do not agree on a master";
      return std::nullopt;
    }
    const auto note_it = [&](Known& known) {
      return note(known, winner, answers.said, answers.asked, are_most);
    };
    if (with_known(options.endpoint, note_it)) return winner.appointment->master;
    why = "too few sentinels answer, and they name another master than the majority before";
    return std::nullopt;
  }
  const bool all_answered = !answers.silence && answers.are_all;
  if (answers.refusal && (all_answered || !answers.is_unknown)) {
    std::rethrow_exception(answers.refusal);
  }
  if (answers.is_unknown) {
    const std::string unknown = whole + ": no sentinel knows a master called " +
                                escape_for_terminal(options.endpoint.master);
    // Sentinels that are set up anew do not know it for a moment.
    const auto is_new = [](const Known& known) { return !known.master; };
    if (all_answered && with_known(options.endpoint, is_new)) {
      throw Error(ExitStatus::config, unknown);
    }
    throw Unavailable(unknown + (all_answered ? " any more" : ", and some do not answer"));
  }
  throw Unavailable(whole + ": no sentinel answers" +
                    (answers.silence ? ": " + *answers.silence : " " + in_time(deadline)));
}

}  // namespace

Master connect_master(const ConnectionOptions& options, const Deadline& deadline) {
  const TimePoint asked = BootClock::now();
  const TimePoint any_counts = asked + (deadline.when - asked) / 2;
  std::string why;
  const auto give_up = [&] { throw Unavailable(options.endpoint.display() + ": " + why); };
  while (true) {
    std::optional<MasterAddress> named;
    try {
      named = find_master(options, deadline, any_counts, why);
    } catch (const Unavailable&) {
      if (why.empty()) throw;
      give_up();  // they have answered before: time has run out
    }
    if (named) {
      try {
        // A master that is dead or cut off must leave time to ask for another.
        const Deadline half = half_of(deadline);
        auto connection = connect_node(options, named->node, half);
        const Reply role = connection->command({"ROLE"}, half);
        if (!is_replica(role)) return {std::move(*named), std::move(connection)};
        why = "the master is down: " + options.endpoint.of(named->node).display() + " is a replica";
      } catch (const Unavailable& error) {
        // What a server has answered tells more.
        if (why.empty()) why = std::string("the master is down: ") + error.what();
      }
    }
    if (after(BootClock::now(), k_pause_between_rounds) >= deadline.when) give_up();
    pause({after(BootClock::now(), k_pause_between_rounds), deadline.cancel_fd});
  }
}

void hear_of_failovers(const ConnectionOptions& options, const Deadline& deadline) {
  std::string why;
  try {
    if (find_master(options, deadline, half_of(deadline).when, why)) return;
  } catch (const Unavailable&) {
    throw;
  } catch (const Error& error) {
    why = std::string("no sentinel answers: ") + error.what();
  }
  throw Unavailable(options.endpoint.display() + ": " + why);
}

bool is_outdated(const Endpoint& whole, const MasterAddress& master) {
  return with_known(
      whole, [&](const Known& known) { return known.master && !is_same(*known.master, master); });
}

}  // namespace rlock::redis
