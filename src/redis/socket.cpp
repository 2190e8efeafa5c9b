#include "redis/socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <vector>

#include "base/duration.hpp"
#include "base/quiet_thread.hpp"
#include "redis/server_error.hpp"

namespace rlock::redis {
namespace {

// The pause before the next address is tried beside the ones that have not answered (RFC 8305).
constexpr Milliseconds k_next_address{250};

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

struct Lookup {
  std::mutex mutex;
  Event done;
  int error = 0;  // of getaddrinfo
  Addresses addresses;
};

// Returns 0, or the error of getaddrinfo.
int look_up(const std::string& host, const std::string& port, int flags, Addresses& addresses) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  addresses.reset(list);
  return error;
}

// getaddrinfo cannot be given a deadline, so a name is looked up in a thread that is left behind
// when it takes too long.
Addresses resolve(const Endpoint& endpoint, const Deadline& deadline) {
  const std::string port = std::to_string(endpoint.port);
  Addresses numeric;
  if (look_up(endpoint.host, port, AI_NUMERICHOST, numeric) == 0) return numeric;

  const auto lookup = std::make_shared<Lookup>();
  const auto work = [lookup, host = endpoint.host, port] {
    Addresses addresses;
    int error = look_up(host, port, AI_ADDRCONFIG, addresses);
    if (error != 0) error = look_up(host, port, 0, addresses);
    const std::lock_guard guard(lookup->mutex);
    lookup->error = error;
    lookup->addresses = std::move(addresses);
    lookup->done.raise();
  };
  try {
    start_quiet_thread(work).detach();
  } catch (const std::system_error& error) {
    throw Unavailable(std::string("cannot start a thread to look up the host: ") + error.what());
  }
  if (!wait_for(lookup->done.fd(), POLLIN, deadline)) {
    throw Unavailable("the look-up of the host got no answer " + in_time(deadline));
  }
  const std::lock_guard guard(lookup->mutex);
  if (lookup->error != 0) throw Unavailable(::gai_strerror(lookup->error));
  return std::move(lookup->addresses);
}

void configure_tcp(int fd) {
  const auto set = [fd](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);  // each is an improvement, none a need
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

// A connection attempt under way. `error` is 0 while it may still succeed.
struct Attempt {
  Fd fd;
  int error = 0;
};

Attempt start(const addrinfo& address) {
  Attempt attempt{Fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  if (!attempt.fd.valid()) attempt.error = errno;
  while (attempt.error == 0 &&
         ::connect(attempt.fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno == EINPROGRESS || errno == EALREADY || errno == EISCONN) break;
    if (errno != EINTR) attempt.error = errno;
  }
  if (attempt.error != 0) attempt.fd.reset();
  return attempt;
}

// Returns the connected socket among `attempts`, if any. Does not wait beyond `until`.
Fd first_connected(std::vector<Attempt>& attempts, TimePoint until, int wake_fd) {
  std::vector<pollfd> polled;
  polled.reserve(attempts.size() + 1);
  for (const Attempt& attempt : attempts) {
    polled.push_back({attempt.error == 0 ? attempt.fd.get() : -1, POLLOUT, 0});
  }
  polled.push_back({wake_fd, POLLIN, 0});
  if (poll_until(polled, until) == 0) return {};
  if (polled.back().revents != 0) throw Interrupted();
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (polled[i].revents == 0) continue;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(attempts[i].fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return std::move(attempts[i].fd);
    attempts[i].error = error;
    attempts[i].fd.reset();
  }
  return {};
}

bool all_failed(const std::vector<Attempt>& attempts) {
  return std::ranges::all_of(attempts, [](const Attempt& attempt) { return attempt.error != 0; });
}

}  // namespace

bool wait_for(int fd, short events, const Deadline& deadline) {
  std::array<pollfd, 2> polled = {{{fd, events, 0}, {deadline.cancel_fd, POLLIN, 0}}};
  if (poll_until(polled, deadline.when) == 0) return false;
  // The answer counts first: a signal that comes with it must not make it unknown.
  if (polled[0].revents != 0) return true;
  throw Interrupted();
}

std::string in_time(const Deadline& deadline) {
  if (deadline.span <= Milliseconds(0)) return "in time";
  return "within " + format_duration(deadline.span) + deadline.from;
}

Deadline again(const Deadline& deadline) {
  return {after(BootClock::now(), deadline.span), deadline.cancel_fd, deadline.span, deadline.from};
}

Deadline half_of(const Deadline& deadline) {
  const TimePoint now = BootClock::now();
  const auto half = (deadline.when - now) / 2;
  return {now + half, deadline.cancel_fd, std::chrono::ceil<Milliseconds>(half)};
}

void pause(const Deadline& deadline) {
  [[maybe_unused]] const bool ready = wait_for(-1, 0, deadline);  // poll() passes over -1
}

Fd connect_tcp(const Endpoint& endpoint, const Deadline& deadline) {
  const Addresses addresses = resolve(endpoint, deadline);
  const addrinfo* address = addresses.get();
  std::vector<Attempt> attempts;
  while (true) {
    if (address != nullptr) {
      attempts.push_back(start(*address));
      address = address->ai_next;
    }
    const bool more = address != nullptr;
    const TimePoint next = after(BootClock::now(), k_next_address);
    while (!all_failed(attempts)) {
      const TimePoint until = more ? std::min(next, deadline.when) : deadline.when;
      Fd fd = first_connected(attempts, until, deadline.cancel_fd);
      if (fd.valid()) {
        configure_tcp(fd.get());
        return fd;
      }
      if (BootClock::now() >= deadline.when) throw Unavailable("no answer " + in_time(deadline));
      if (more && BootClock::now() >= next) break;
    }
    if (!more && all_failed(attempts)) throw Unavailable(errno_text(attempts.front().error));
  }
}

std::vector<std::string> addresses_of(const Endpoint& endpoint, const Deadline& deadline) {
  constexpr std::string_view k_mapped = "::ffff:";  // an IPv4 address, as IPv6 has it
  const Addresses addresses = resolve(endpoint, deadline);
  std::vector<std::string> numbers;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0) {
      continue;
    }
    const std::string_view number = text.data();
    const bool is_mapped =
        number.starts_with(k_mapped) && number.find('.') != std::string_view::npos;
    numbers.emplace_back(is_mapped ? number.substr(k_mapped.size()) : number);
  }
  return numbers;
}

Fd connect_unix(const std::string& path, const Deadline& deadline) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path) throw Unavailable("the path is too long for a socket");
  std::memcpy(name.sun_path, path.data(), path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) throw Unavailable(errno_text(errno));
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    // EAGAIN: the server's backlog is full. poll() cannot wait for that.
    if (errno != EAGAIN && errno != EINTR) throw Unavailable(errno_text(errno));
    if (BootClock::now() >= deadline.when) throw Unavailable("no answer " + in_time(deadline));
    pause({after(BootClock::now(), Milliseconds(5)), deadline.cancel_fd});
  }
  return fd;
}

}  // namespace rlock::redis
