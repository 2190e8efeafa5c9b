#include "fair_lock.hpp"

#include <stdexcept>

#include "process.hpp"
#include "wait_until.hpp"

namespace rlock::test {
namespace {

// Redisson's arithmetic, with KEYS lock, queue, scores and ARGV lease, me, wait, now.
const std::string k_sweep = R"(
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  local score = head and redis.call('zscore', KEYS[3], head)
  if not score or tonumber(score) > tonumber(ARGV[4]) then break end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end
)";

const std::string k_acquire = k_sweep + R"(
local lease, me, wait, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('exists', KEYS[1]) == 0 and
    (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == me) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], me)
  for _, member in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -wait, member)
  end
  redis.call('hset', KEYS[1], me, 1)
  redis.call('pexpire', KEYS[1], lease)
  return 'acquired'
end
if redis.call('zscore', KEYS[3], me) then return 'queued' end
local ttl = redis.call('pttl', KEYS[1])
local last = redis.call('lindex', KEYS[2], -1)
local score = last and last ~= me and redis.call('zscore', KEYS[3], last)
if score then ttl = tonumber(score) - now end
if redis.call('zadd', KEYS[3], ttl + now + wait, me) == 1 then redis.call('rpush', KEYS[2], me) end
return 'queued'
)";

const std::string k_unlock = k_sweep + R"(
redis.call('hdel', KEYS[1], ARGV[2])
local head = redis.call('lindex', KEYS[2], 0)
if head then redis.call('publish', ARGV[5] .. ':' .. head, '0') end
return 'released'
)";

const std::string k_leave = R"(
local behind = false
for _, member in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
  if behind then redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), member) end
  behind = behind or member == ARGV[2]
end
redis.call('zrem', KEYS[3], ARGV[2])
redis.call('lrem', KEYS[2], 0, ARGV[2])
return 'left'
)";

}  // namespace

std::vector<std::string> queue(const Server& server) {
  return server.list({"LRANGE", k_queue, "0", "-1"});
}

std::vector<pid_t> queued_pids(const Server& server) {
  std::vector<pid_t> pids;
  for (const std::string& owner : queue(server)) {
    pids.push_back(static_cast<pid_t>(std::stol(owner.substr(owner.rfind(':') + 1))));
  }
  return pids;
}

bool comes_to_queue(const Server& server, std::size_t length) {
  return wait_until([&] { return server.command({"LLEN", k_queue}) == std::to_string(length); });
}

long long server_time(const Server& server) {
  const auto time = server.list({"TIME"});
  return std::stoll(time.at(0)) * 1000 + std::stoll(time.at(1)) / 1000;
}

long long deadline_ahead(const Server& server, const std::string& owner) {
  const std::string score = server.command({"ZSCORE", k_scores, owner});
  return score == "(nil)" ? -1 : std::stoll(score) - server_time(server);
}

void make_overdue(const Server& server, const std::string& owner) {
  // "due": a time in milliseconds.
  const std::string changed = server.command(
      {"EVAL",
       "local about = cjson.decode(redis.call('hget', KEYS[1], ARGV[1])) "
       "local had = about.due about.due = 1 "
       "redis.call('hset', KEYS[1], ARGV[1], cjson.encode(about)) return had and 'done'",
       "1", k_info, owner});
  if (changed != "done") throw std::runtime_error("no waiter of rlock's: " + owner);
}

void date_back_call(const Server& server, std::chrono::milliseconds by) {
  server.command({"EVAL",
                  "local text = redis.call('hget', KEYS[1], 'called') "
                  "if not text then return end local called = cjson.decode(text) "
                  "called.at = called.at - ARGV[1] "
                  "return redis.call('hset', KEYS[1], 'called', cjson.encode(called))",
                  "1", k_info, std::to_string(by.count())});
}

long script_calls(const Server& server) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string key = "cmdstat_evalsha:calls=";
  const std::size_t at = stats.find(key);
  return at == std::string::npos ? 0 : std::stol(stats.substr(at + key.size()));
}

void hold_by_other(const Server& server, std::chrono::milliseconds lease) {
  server.command({"HSET", "job", "other:1", "1"});
  server.command({"PEXPIRE", "job", std::to_string(lease.count())});
}

void let_go(const Server& server) {
  server.command({"DEL", "job"});
  const std::string head = server.command({"LINDEX", k_queue, "0"});
  server.command({"PUBLISH", k_channel + ":" + head, "0"});
}

std::vector<std::string> fair_argv(const Server& server, const std::vector<std::string>& options,
                                   const std::vector<std::string>& command) {
  return rlock_argv("exec", "--fair", "-r", server.unix_url(), options, "job", "--", command);
}

std::string Peer::run(const std::string& script, const std::vector<std::string>& args) {
  std::vector<std::string> command = {"EVAL", script, "3", "job", k_queue, k_scores};
  command.insert(command.end(), args.begin(), args.end());
  const std::string answer = server_.command(command);
  if (answer.starts_with("(error)")) throw std::runtime_error(answer);
  return answer;
}

bool Peer::acquire(std::chrono::milliseconds lease) {
  const long long now = server_time(server_) + skew_.count();
  return run(k_acquire, {std::to_string(lease.count()), owner_, std::to_string(wait_.count()),
                         std::to_string(now)}) == "acquired";
}

void Peer::unlock() {
  const long long now = server_time(server_) + skew_.count();
  run(k_unlock, {"30000", owner_, "", std::to_string(now), k_channel});
}

void Peer::leave() { run(k_leave, {"", owner_, std::to_string(wait_.count())}); }

void Peer::listen() {
  listener_ = std::make_unique<RespClient>(server_.connect());
  listener_->call({"SUBSCRIBE", k_channel + ":" + owner_});
}

std::size_t Peer::messages() {
  // Each call reads one reply: a message, or the answer to this or to an earlier question.
  const std::size_t first = pings_;
  while (true) {
    const auto reply = listener_->call({"PING", std::to_string(pings_++)});
    if (reply.at(0) == "message") ++messages_;
    if (reply.at(0) == "pong" && std::stoul(reply.at(1)) >= first) return messages_;
  }
}

}  // namespace rlock::test
