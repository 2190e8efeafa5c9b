// rlock inspect-queue: shows one atomic snapshot of a lock.

#include <array>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/json_writer.hpp"
#include "cli/literal_words.hpp"
#include "cli/message.hpp"
#include "cli/snapshot_json.hpp"
#include "cli/status_line.hpp"
#include "lock/key_names.hpp"
#include "lock/snapshot.hpp"

namespace rlock::cli {
namespace {

using lock::Snapshot;

std::string describe_party(const Snapshot& snapshot, const lock::Party& party) {
  std::string text = describe_holder(party.owner, party.about.value_or(lock::About{}));
  if (party.about) {
    text += " as " + escape_for_terminal(party.about->user) + ", owner " +
            escape_for_terminal(party.owner);
  }
  if (party.since_ms) {
    text += ", since " + format_duration(Milliseconds(snapshot.time_ms - *party.since_ms));
  }
  return text;
}

std::string describe_waiter(const Snapshot& snapshot, const lock::Waiter& waiter) {
  std::string text = describe_party(snapshot, waiter);
  if (!waiter.deadline_ms) {
    text += ", without a deadline";
  } else if (const std::int64_t left = *waiter.deadline_ms - snapshot.time_ms; left > 0) {
    text += ", deadline in " + format_duration(Milliseconds(left));
  } else {
    text += ", deadline passed " + format_duration(Milliseconds(-left)) + " ago";
  }
  return text + (!waiter.alive ? ", alive or dead" : *waiter.alive ? "" : ", dead");
}

std::string describe_score(double score) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), is_whole(score) ? "%.0f" : "%g", score);
  return text.data();
}

std::string describe_state(const Snapshot& snapshot) {
  if (!snapshot.held) return "free";
  const std::string kind = "held (" + kind_name(snapshot.kind) + "), ";
  const std::int64_t ttl = snapshot.ttl_ms.value_or(-1);
  return kind +
         (ttl < 0 ? "without an expiry" : "expires in " + format_duration(Milliseconds(ttl)));
}

std::string to_text(const Snapshot& snapshot) {
  std::string text = escape_for_terminal(snapshot.name) + ": " + describe_state(snapshot) + "\n";
  for (const lock::Holder& holder : snapshot.holders) {
    text += "  holder    " + describe_party(snapshot, holder) + ", count " +
            std::to_string(holder.count) + "\n";
  }
  std::size_t position = 0;
  for (const lock::Waiter& waiter : snapshot.waiters) {
    text +=
        "  waiter " + std::to_string(++position) + "  " + describe_waiter(snapshot, waiter) + "\n";
  }
  if (snapshot.token) text += "  token     " + std::to_string(*snapshot.token) + "\n";
  for (const auto& [field, value] : snapshot.hash) {
    text += "  hash      " + escape_for_terminal(field) + " = " + escape_for_terminal(value) + "\n";
  }
  for (const std::string& member : snapshot.queue) {
    text += "  queue     " + escape_for_terminal(member) + "\n";
  }
  for (const auto& [member, score] : snapshot.scores) {
    text += "  deadline  " + escape_for_terminal(member) + " " + describe_score(score) + "\n";
  }
  for (const lock::Problem& problem : snapshot.problems) {
    text += "  problem   " + problem.code + ": " + escape_for_terminal(problem.detail) + "; " +
            escape_for_terminal(problem.hint) + "\n";
  }
  return text;
}

int run_inspect_queue(const Globals& globals, const std::string& name) {
  lock::check_name(name);
  redis::ClientOptions options = globals.client_options();
  options.reply_limit = redis::k_large_reply;
  redis::Client client(options);
  const Snapshot snapshot = lock::take_snapshot(client, name);
  print(globals.json ? to_json(snapshot, options.endpoint.display()) + "\n" : to_text(snapshot));
  return 0;
}

}  // namespace

Action set_up_inspect_queue(CLI::App& command, const Invocation& invocation) {
  const auto name = std::make_shared<std::string>();
  set_usage(command, "rlock inspect-queue [OPTIONS] NAME");
  unprotect(*command.add_option("NAME", *name, "Name of the lock")->required());
  return [&invocation, name] { return run_inspect_queue(invocation.globals, *name); };
}

}  // namespace rlock::cli
