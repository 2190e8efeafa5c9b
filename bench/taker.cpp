#include "taker.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sys/epoll.h>
#include <utility>

#include "base/error.hpp"

namespace rlock::bench {
namespace {

constexpr std::chrono::seconds k_longest_handover{30};

void listen(int epoll, int fd, void* tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = tag;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw Error(ExitStatus::internal, "epoll_ctl: " + errno_text(errno));
  }
}

}  // namespace

Taker::Taker(redis::ClientOptions options)
    : client_(std::move(options)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  listen(epoll_.get(), stop_.fd(), nullptr);
  thread_ = std::thread([this] {
    try {
      run();
    } catch (const Error& error) {
      std::fprintf(stderr, "fair_queue: taking: %s\n", error.what());
      std::_Exit(1);
    }
  });
}

Taker::~Taker() {
  stop_.raise();
  thread_.join();
}

void Taker::add(Waiter& waiter) { listen(epoll_.get(), waiter.fd(), &waiter); }

Grant Taker::wait_for_grant() {
  std::unique_lock guard(mutex_);
  if (!granted_.wait_for(guard, k_longest_handover, [this] { return grant_.has_value(); })) {
    throw Error(ExitStatus::internal, "nobody took the lock");
  }
  return *std::exchange(grant_, std::nullopt);
}

void Taker::run() {
  while (true) {
    epoll_event event{};
    if (::epoll_wait(epoll_.get(), &event, 1, -1) != 1) continue;
    if (event.data.ptr == nullptr) return;
    Waiter* waiter = static_cast<Waiter*>(event.data.ptr);
    if (!waiter->on_call(client_)) continue;
    const Grant grant{waiter, Clock::now()};
    {
      const std::lock_guard guard(mutex_);
      grant_ = grant;
    }
    granted_.notify_one();
  }
}

}  // namespace rlock::bench
