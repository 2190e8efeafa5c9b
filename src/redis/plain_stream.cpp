#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

#include "redis/server_error.hpp"
#include "redis/stream.hpp"

namespace rlock::redis {
namespace {

class PlainStream : public Stream {
 public:
  PlainStream(Fd socket, std::string server, std::string hint)
      : socket_(std::move(socket)), server_(std::move(server)), hint_(std::move(hint)) {}

  Step read(std::span<char> buffer) override {
    while (true) {
      const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) {
        hint_.clear();
        return {.bytes = static_cast<std::size_t>(got)};
      }
      if (got == 0) throw Unavailable("redis at " + server_ + " closed the connection" + hint_);
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {.wait_for = POLLIN};
      if (errno != EINTR) fail();
    }
  }

  Step write(std::string_view bytes) override {
    while (true) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {.wait_for = POLLOUT};
      if (errno != EINTR) fail();
    }
  }

  Step end() override {
    ::shutdown(socket_.get(), SHUT_WR);
    return {};
  }

  [[nodiscard]] bool has_read_ahead() const noexcept override { return false; }
  [[nodiscard]] int fd() const noexcept override { return socket_.get(); }

 private:
  [[noreturn]] void fail() const {
    throw Unavailable("lost the connection to redis at " + server_ + ": " + errno_text(errno) +
                      hint_);
  }

  Fd socket_;
  std::string server_;
  std::string hint_;  // empty once the server has said something
};

}  // namespace

std::unique_ptr<Stream> plain_stream(Fd socket, std::string server, std::string hint) {
  return std::make_unique<PlainStream>(std::move(socket), std::move(server), std::move(hint));
}

}  // namespace rlock::redis
