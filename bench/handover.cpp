// The bare peers of a handover: what publish, subscribe and EVAL cost by themselves.
//
//   handover wait SOCKET KEY CHANNEL [COMMAND...]
//     A subscriber that sleeps until the first message, and takes the lock (EVAL: set nx px).
//     Prints when it had the lock, or what COMMAND prints, which it spawns then: CLOCK_MONOTONIC in
//     ns.
//   handover release SOCKET KEY CHANNEL
//     Connects, prints a line, waits for the end of stdin, then deletes KEY and publishes "0" as
//     Redisson's release does; prints the time from before it was sent.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

namespace {

using Reply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;
using Context = std::unique_ptr<redisContext, decltype(&redisFree)>;

constexpr const char* k_release =
    "redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], '0'); return 1";
constexpr const char* k_take = "return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', 30000)";

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "handover: %s\n", why);
  std::exit(1);
}

long long now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

Context connect(const char* socket) {
  Context context(redisConnectUnix(socket), &redisFree);
  if (context == nullptr || context->err != 0) fail("cannot connect");
  return context;
}

Reply check(void* reply) {
  Reply result(static_cast<redisReply*>(reply), &freeReplyObject);
  if (result == nullptr || result->type == REDIS_REPLY_ERROR) fail("the server refused a request");
  return result;
}

void release(redisContext* context, const char* key, const char* channel) {
  check(redisCommand(context, "EVAL %s 2 %s %s", k_release, key, channel));
}

void take(redisContext* context, const char* key) {
  const Reply reply = check(redisCommand(context, "EVAL %s 1 %s waiter", k_take, key));
  if (reply->type != REDIS_REPLY_STATUS) fail("the lock was not free");
}

long long run(char** command) {
  int ends[2];
  if (::pipe(ends) != 0) fail("pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  if (::posix_spawnp(&child, command[0], &actions, nullptr, command, environ) != 0) fail("spawn");
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  char text[32] = {};
  if (::read(ends[0], text, sizeof text - 1) <= 0) fail("the command said nothing");
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return std::atoll(text);
}

// Waits for one release, and prints the time at which it had the lock (or its command ran).
int wait_once(const char* socket, const char* key, const char* channel, char** command) {
  const Context messages = connect(socket);
  const Context requests = connect(socket);
  check(redisCommand(requests.get(), "PING"));
  check(redisCommand(messages.get(), "SUBSCRIBE %s", channel));
  void* message = nullptr;
  if (redisGetReply(messages.get(), &message) != REDIS_OK) fail("no message");
  check(message);
  take(requests.get(), key);
  ::dprintf(STDOUT_FILENO, "%lld\n", *command == nullptr ? now_ns() : run(command));
  check(redisCommand(requests.get(), "DEL %s", key));
  return 0;
}

int release_once(const char* socket, const char* key, const char* channel) {
  const Context context = connect(socket);
  check(redisCommand(context.get(), "PING"));
  ::dprintf(STDOUT_FILENO, "ready\n");
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  const long long sent = now_ns();
  release(context.get(), key, channel);
  ::dprintf(STDOUT_FILENO, "%lld\n", sent);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 5 && std::strcmp(argv[1], "wait") == 0) {
    return wait_once(argv[2], argv[3], argv[4], argv + 5);
  }
  if (argc == 5 && std::strcmp(argv[1], "release") == 0) {
    return release_once(argv[2], argv[3], argv[4]);
  }
  fail("usage: handover wait SOCKET KEY CHANNEL [COMMAND...] | release SOCKET KEY CHANNEL");
}
