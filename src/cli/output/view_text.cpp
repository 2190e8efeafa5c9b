#include "cli/output/view_text.hpp"

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/shell_quote.hpp"
#include "base/wording.hpp"

namespace rlock::cli {

std::string state_name(const lock::Snapshot& snapshot) {
  if (snapshot.held) return "held";
  return snapshot.is_stale() ? "unknown" : "free";
}

std::optional<std::string> describe_no_lock(const lock::Snapshot& snapshot) {
  for (const lock::Problem& problem : snapshot.problems) {
    const auto* wrong = std::get_if<lock::WrongKind>(&problem);
    if (wrong != nullptr && wrong->key == snapshot.name) return "not a lock, but a " + wrong->type;
  }
  return std::nullopt;
}

std::string describe_address(const lock::Replication::Address& address) {
  return escape_for_terminal(address.host) + ":" + std::to_string(address.port);
}

std::string describe_replica(const lock::Replication& replication) {
  const std::string text = "a replica of " + describe_address(*replication.master) + ", ";
  const std::string age = replication.age ? format_seconds(*replication.age) : "";
  if (!replication.is_linked) {
    return text + "cut off from it" +
           (age.empty() ? ": how old its data is, is unknown"
                        : " for at least " + age + ": what it shows is that old");
  }
  if (age.empty()) return text + "how old its data is, is unknown";
  return text + (replication.is_stale()
                     ? "which it has not heard from for " + age + ": what it shows is that old"
                     : "which it heard from " + age + " ago: what it shows may be that old");
}

std::string describe_databases(std::int64_t number, const std::vector<lock::Database>& others) {
  std::string text = "database " + std::to_string(number) + " is empty, but ";
  for (std::size_t i = 0; i < others.size(); ++i) {
    text += (i == 0 ? "database " : ", database ") + std::to_string(others[i].number) + " has " +
            plural(static_cast<std::size_t>(others[i].keys), "key");
  }
  return text;
}

std::vector<std::string> describe_view(const std::optional<lock::Replication>& replication,
                                       const std::vector<lock::Database>& others,
                                       const Remedies& remedies, const std::string& words) {
  const redis::Endpoint& server = remedies.server();
  std::vector<std::string> lines;
  if (replication && replication->master) {
    lines.push_back(server.display() + ": " + describe_replica(*replication) +
                    (replication->is_stale() ? "; a lock that seems free may be held" : ""));
  }
  if (!others.empty()) {
    lines.push_back(server.display() + ": " + describe_databases(server.database, others) + ": " +
                    remedies.rlock_in(static_cast<int>(others.front().number), words).text);
  }
  return lines;
}

std::optional<std::string> describe_pattern(const lock::Snapshot& snapshot,
                                            const Remedies& remedies) {
  const bool is_there = snapshot.held || snapshot.kind || snapshot.is_unknown || snapshot.token ||
                        !snapshot.queue.empty() || !snapshot.scores.empty() ||
                        snapshot.listening.value_or(0) > 0;
  if (is_there || snapshot.name.find_first_of("*?[") == std::string::npos) return std::nullopt;
  return escape_for_terminal(snapshot.name) +
         ": this is a name, not a pattern, and there is no such lock; to look for locks: " +
         remedies.rlock("list " + shell_operands({snapshot.name})).text;
}

void AlikeStrings::add(const lock::LockScan& scan) {
  count += scan.alike();
  may_be_more = may_be_more || scan.alike() == lock::LockScan::k_most_alike;
}

std::string AlikeStrings::describe(const std::string& link) const {
  return (may_be_more ? "at least " : "") + plural(count, "string") + link +
         (count == 1 ? " looks like a lock" : " look like locks");
}

std::vector<std::string> describe_view(const lock::Snapshot& snapshot, const Remedies& remedies) {
  auto lines = describe_view(snapshot.replication, snapshot.other_databases, remedies, "list");
  if (auto line = describe_pattern(snapshot, remedies)) lines.push_back(*std::move(line));
  return lines;
}

}  // namespace rlock::cli
