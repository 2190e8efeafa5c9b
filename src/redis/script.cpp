#include "redis/script.hpp"

#include <numeric>

namespace rlock::redis {
namespace {

// `which`: the script, as the command names it.
Args eval_args(std::string_view command, std::string_view which, const ScriptCall& call) {
  Args words = {command, which, call.key_count};
  words.insert(words.end(), call.keys.begin(), call.keys.end());
  words.insert(words.end(), call.args.begin(), call.args.end());
  return words;
}

}  // namespace

Reply run_script(Connection& connection, const ScriptCall& call, const Deadline& deadline,
                 bool is_asking) {
  const auto send = [&](std::string_view command, std::string_view which) {
    if (is_asking) connection.send({"ASKING"}, deadline);
    return connection.command(eval_args(command, which, call), deadline);
  };
  const auto run = [&](std::string_view by_sha, std::string_view by_text) {
    Reply reply = send(by_sha, call.script.sha1);
    if (!reply.is_error() || !reply.text.starts_with("NOSCRIPT")) return reply;
    return send(by_text, call.script.text);
  };
  if (call.script.access == Script::Access::read) {
    Reply reply = run("EVALSHA_RO", "EVAL_RO");
    const bool is_refused = reply.is_error() && (reply.text.starts_with("ERR unknown command") ||
                                                 reply.text.starts_with("NOPERM"));
    if (!is_refused) return reply;
  }
  return run("EVALSHA", "EVAL");
}

Args script_command(std::string_view command, const ScriptCall& call) {
  return eval_args(command, call.script.sha1, call);
}

std::vector<Reply> run_scripts(Connection& connection, const std::vector<ScriptCall>& calls,
                               const Deadline& each) {
  std::vector<Reply> replies(calls.size());
  std::vector<std::size_t> wanted(calls.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  // Has the calls that are wanted answered at once. Those that fail are still wanted.
  const auto ask = [&](std::string_view command) {
    std::vector<Args> requests;
    requests.reserve(wanted.size());
    for (const std::size_t i : wanted) requests.push_back(script_command(command, calls[i]));
    std::vector<Reply> answers = connection.commands(requests, each);
    std::vector<std::size_t> failed;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (answers[i].is_error()) failed.push_back(wanted[i]);
      replies[wanted[i]] = std::move(answers[i]);
    }
    wanted = std::move(failed);
  };
  ask("EVALSHA_RO");
  // The script is not known yet, there is no such command, or some keys are not the user's.
  for (bool is_settled = false; !wanted.empty();) {
    const std::size_t first = wanted.front();
    wanted.erase(wanted.begin());
    const bool is_unknown = replies[first].text.starts_with("NOSCRIPT");
    replies[first] = run_script(connection, calls[first], again(each));
    if (is_settled || replies[first].is_error() || wanted.empty()) continue;
    is_settled = true;
    ask(is_unknown ? "EVALSHA_RO" : "EVALSHA");
  }
  return replies;
}

void send_script(Connection& connection, const ScriptCall& call, const Deadline& deadline) {
  connection.send(eval_args("EVAL", call.script.text, call), deadline);
}

}  // namespace rlock::redis
