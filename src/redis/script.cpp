#include "redis/script.hpp"

namespace rlock::redis {
namespace {

Args eval_args(std::string_view command, std::string_view script, const std::string& key_count,
               const ScriptArgs& call) {
  Args args = {command, script, key_count};
  args.insert(args.end(), call.keys.begin(), call.keys.end());
  args.insert(args.end(), call.args.begin(), call.args.end());
  return args;
}

}  // namespace

Reply run_script(Connection& connection, const Script& script, const ScriptArgs& call,
                 const Patience& patience) {
  const std::string key_count = std::to_string(call.keys.size());
  Reply reply = connection.command(eval_args("EVALSHA", script.sha1, key_count, call), patience);
  if (reply.type == Reply::Type::error && reply.text.starts_with("NOSCRIPT")) {
    reply = connection.command(eval_args("EVAL", script.text, key_count, call), patience);
  }
  return reply;
}

void send_script(Connection& connection, const Script& script, const ScriptArgs& call,
                 const Patience& patience) {
  const std::string key_count = std::to_string(call.keys.size());
  connection.send(eval_args("EVAL", script.text, key_count, call), patience);
}

}  // namespace rlock::redis
