#include "explore/differential/server.hpp"

#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <signal.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <hiredis/hiredis.h>

namespace rlock::explore {
namespace {

// How long the server has been up where its clock stands first.
constexpr std::int64_t k_up_ms = Store::k_up_s * 1000;

Reply to_reply(const redisReply& from) {
  switch (from.type) {
    case REDIS_REPLY_INTEGER:
      return Reply::number(from.integer);
    case REDIS_REPLY_STRING:
      return Reply::bulk({from.str, from.len});
    case REDIS_REPLY_STATUS:
      return Reply::status({from.str, from.len});
    case REDIS_REPLY_ERROR:
      return Reply::error({from.str, from.len});
    case REDIS_REPLY_ARRAY: {
      Reply reply = Reply::array();
      for (std::size_t i = 0; i < from.elements; ++i)
        reply.items.push_back(to_reply(*from.element[i]));
      return reply;
    }
    default:
      return {};
  }
}

// The socket's file is there a little before the server listens.
bool listens(const std::string& socket) {
  try {
    Connection connection(socket);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

Connection::Connection(const std::string& socket)
    : context_(redisConnectUnixWithTimeout(socket.c_str(), {10, 0}), redisFree) {
  if (!context_ || context_->err != 0) throw std::runtime_error("cannot connect to " + socket);
  redisSetTimeout(context_.get(), {10, 0});
}

void Connection::send(const Words& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(),
                         sizes.data());
}

Reply Connection::read() {
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) != REDIS_OK || reply == nullptr)
    throw std::runtime_error(std::string("the server does not answer: ") + context_->errstr);
  const std::unique_ptr<void, void (*)(void*)> owner(reply, freeReplyObject);
  return to_reply(*static_cast<redisReply*>(reply));
}

Server::Server(const std::string& program) {
  try {
    start(program);
  } catch (...) {
    end();
    throw;
  }
}

Server::~Server() { end(); }

void Server::start(const std::string& program) {
  std::string pattern = std::filesystem::temp_directory_path() / "rlock-differential-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  folder_ = pattern;
  const std::string clock = folder_ / "clock";
  const int fd = open(clock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof *clock_us_) != 0)
    throw std::runtime_error("cannot make " + clock);
  void* memory = mmap(nullptr, sizeof *clock_us_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  clock_us_ = static_cast<volatile std::int64_t*>(memory);
  set_clock(k_now_ms - k_up_ms);

  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int log = open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(log, 1);
    dup2(log, 2);
    setenv("EXPLORE_CLOCK", clock.c_str(), 1);
    setenv("LD_PRELOAD", RLOCK_EXPLORE_CLOCK, 1);
    execlp(program.c_str(), program.c_str(), "--port", "0", "--unixsocket", "socket", "--dir",
           folder_.c_str(), "--save", "", "--appendonly", "no", nullptr);
    _exit(127);
  }
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!listens(folder_ / "socket")) {
    const bool has_ended = waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (has_ended) pid_ = -1;
    if (has_ended || std::chrono::steady_clock::now() > last) {
      std::cerr << std::ifstream(folder_ / "log").rdbuf();
      throw std::runtime_error(program + " does not start");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  set_clock(k_now_ms);
  if (connect().ask({"time"}) != Store().run({"time"}))
    throw std::runtime_error(program + " does not follow the clock that it was given");
}

void Server::end() noexcept {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Connection Server::connect() const { return Connection(folder_ / "socket"); }

void Server::set_clock(std::int64_t now_ms) { *clock_us_ = now_ms * 1000; }

}  // namespace rlock::explore
