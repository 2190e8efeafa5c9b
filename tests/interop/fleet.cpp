#include "fleet.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "support/wait_until.hpp"
#include "support/words.hpp"

namespace rlock::test {
namespace {

using namespace std::chrono_literals;

struct Shared {
  Server server;
  Peer java{server.tcp_url()};
};

std::unique_ptr<Shared>& shared() {
  static std::unique_ptr<Shared> instance;
  return instance;
}

}  // namespace

bool Client::gets_it(std::chrono::milliseconds bound) {
  return wait_until([this] { return has_it(); }, bound);
}

JavaClient::JavaClient(Peer& peer, Lock lock, long lease_ms)
    : lock_(std::move(lock)), thread_(peer), call_(thread_.start("lock", lock_, {lease_ms})) {}

bool JavaClient::has_it() {
  if (!call_.done()) return false;
  if (call_.answer() != "true") throw std::runtime_error("lock() ended with " + call_.answer());
  return true;
}

void JavaClient::release() {
  const std::string answer = thread_.call("unlock", lock_);
  if (answer != "true") throw std::runtime_error("unlock() ended with " + answer);
}

RlockClient::RlockClient(const std::string& url, const Lock& lock, const Words& options)
    : process_(
          [&] {
            Words argv = exec_argv(url, lock, options);
            argv.insert(argv.end(), {"--", "sh", "-c", "echo got; cat > /dev/null"});
            return argv;
          }(),
          {.hold_stdin = true}) {}

bool RlockClient::has_it() {
  const bool running = process_.running();
  if (process_.out() == "got\n") return true;
  if (!running) throw std::runtime_error("rlock ended: " + process_.err());
  return false;
}

void RlockClient::release() {
  process_.close_stdin();
  const Result result = process_.wait();
  if (result.status != 0 || !result.err.empty()) {
    throw std::runtime_error("rlock ended with " + std::to_string(result.status) + ": " +
                             result.err);
  }
}

int Renewals::count() {
  const long ttl = pttl(server_, name_);
  if (ttl < 0) {
    throw std::runtime_error(name_ + " is free after " + std::to_string(count_) + " renewals");
  }
  if (ttl > ttl_) ++count_;
  ttl_ = ttl;
  return count_;
}

std::string side_name(Side side) { return side == Side::java ? "Java" : "rlock"; }

Fleet::Fleet() {
  if (!shared()) shared() = std::make_unique<Shared>();
}

Fleet::~Fleet() {
  bool clean = false;
  try {
    // Unsubscribing, and forgetting a request, need not have happened when unlock() returns.
    clean = wait_until([this] { return leftovers().empty(); });
    CHECK(leftovers() == "");
    CHECK_FALSE(java().busy());
    clean = clean && !java().busy();
  } catch (const std::exception& e) {
    FAIL_CHECK(e.what());
  }
  if (clean) {
    server().command({"FLUSHALL"});
  } else {
    shared().reset();
  }
}

// What has to be gone: keys, unless they expire by themselves, and waiters.
std::string Fleet::leftovers() const {
  std::string left = server().command({"PUBSUB", "CHANNELS", "redisson_*"});
  for (const std::string& key : server().keys()) {
    // Notes of requests that have been done, and of whom rlock called to a fair lock: it cannot
    // take the latter away when that is Java.
    const bool may_stay = key.starts_with("redisson_unlock_latch:") ||
                          (key.starts_with("rlock_info") &&
                           (remains_ || server().command({"HKEYS", key}) == "called"));
    if (may_stay && server().command({"PTTL", key}) != "-1") continue;
    left += key + " (" + server().command({"TYPE", key}) + ")\n";
  }
  return left;
}

Server& Fleet::server() { return shared()->server; }

Peer& Fleet::java() { return shared()->java; }

std::unique_ptr<Client> Fleet::client(Side side, const Lock& lock) {
  if (side == Side::java) return std::make_unique<JavaClient>(java(), lock);
  return std::make_unique<RlockClient>(server(), lock);
}

std::unique_ptr<Client> Fleet::prompter(const Lock& lock) {
  if (lock.kind != "fair" || java().has_fair_wait()) return nullptr;
  return client(Side::rlock, lock);
}

void take_turns(std::vector<Client*> clients) {
  while (!clients.empty()) {
    auto turn = clients.end();
    REQUIRE(wait_until([&] {
      turn = std::find_if(clients.begin(), clients.end(), [](Client* c) { return c->has_it(); });
      return turn != clients.end();
    }));
    CHECK(std::count_if(clients.begin(), clients.end(), [](Client* c) { return c->has_it(); }) ==
          1);
    (*turn)->release();
    clients.erase(turn);
  }
}

Result Fleet::rlock(const Lock& lock, const std::string& command, const Words& options) {
  return run(rlock_argv(command, "-r", server().unix_url(), options, lock.name));
}

int Fleet::rlock_try(const Lock& lock) {
  Words argv = exec_argv(server().unix_url(), lock, {"-n"});
  argv.insert(argv.end(), {"--", "true"});
  return run(argv).status;
}

std::string Fleet::java_try(const Lock& lock) {
  JavaThread thread(java());
  const std::string answer = thread.call("tryLock", lock);
  if (answer == "true") thread.call("unlock", lock);
  return answer;
}

nlohmann::json Fleet::inspect(const Lock& lock) {
  const Result result = rlock(lock, "inspect-queue", {"--json"});
  REQUIRE(result.status == 0);
  return nlohmann::json::parse(result.out);
}

bool Fleet::come_to_wait(const Lock& lock, long count) {
  return wait_until([&] {
    if (lock.kind == "fair")
      return server().command({"LLEN", lock.queue()}) == std::to_string(count);
    const Words answer = server().list({"PUBSUB", "NUMSUB", lock.channel()});
    if (answer.size() != 2 || answer[1] != std::to_string(count)) return false;
    return (lock.kind != "read" && lock.kind != "write") || java().all_asleep();
  });
}

Words Fleet::queue(const Lock& lock) { return server().list({"LRANGE", lock.queue(), "0", "-1"}); }

Words Fleet::deadlines(const Lock& lock) {
  return server().list({"ZRANGE", lock.deadlines(), "0", "-1"});
}

Lock lock_of_each_kind() {
  Lock lock{"", "job"};
  SUBCASE("plain") { lock.kind = "plain"; }
  SUBCASE("fair") { lock.kind = "fair"; }
  return lock;
}

Words exec_argv(const std::string& url, const Lock& lock, const Words& options) {
  Words argv = rlock_argv("exec", "-r", url);
  if (lock.kind == "fair") argv.push_back("--fair");
  if (lock.kind == "read") argv.push_back("-s");
  if (lock.kind == "write") argv.push_back("-x");
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back(lock.name);
  return argv;
}

}  // namespace rlock::test
