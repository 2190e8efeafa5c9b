#include "loopback_server.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>

#include "net.hpp"

namespace rlock::test {

LoopbackServer::LoopbackServer()
    : listener_(listen_loopback(port_)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) {
    throw std::system_error(errno, std::generic_category(), "eventfd");
  }
}

void LoopbackServer::start() {
  thread_ = std::thread([this] { loop(); });
}

void LoopbackServer::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    wake();
  }
  thread_.join();
}

void LoopbackServer::wake() const { ::eventfd_write(wake_.get(), 1); }

void LoopbackServer::loop() {
  std::unique_lock lock(mutex_);
  std::vector<pollfd> fds;
  while (!stopping_) {
    fds = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    const int timeout = watch(fds);
    lock.unlock();
    ::poll(fds.data(), static_cast<nfds_t>(fds.size()), timeout);
    lock.lock();
    eventfd_t ignored = 0;
    ::eventfd_read(wake_.get(), &ignored);
    accept_all();
    serve();
  }
}

void LoopbackServer::accept_all() {
  while (true) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      return;
    }
    ++accepted_;
    take(std::move(socket));
  }
}

std::size_t LoopbackServer::connections() const {
  const std::scoped_lock lock(mutex_);
  return accepted_;
}

int earlier(int timeout, long long left) {
  const int wait = static_cast<int>(std::min(left, 60'000LL));
  return timeout < 0 ? wait : std::min(timeout, wait);
}

}  // namespace rlock::test
