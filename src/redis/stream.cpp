#include "redis/stream.hpp"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include "base/escape.hpp"
#include "redis/reply.hpp"
#include "redis/server_error.hpp"
#include "redis/tls_module.hpp"

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

namespace {

class TlsStream : public Stream {
 public:
  // Reads the files, so that a wrong file is reported even if the server is down.
  explicit TlsStream(const Endpoint& endpoint)
      : server_(endpoint.display()), module_(tls_module()) {
    if (module_ == nullptr) {
      throw Error(ExitStatus::config, server_ + ": this build of rlock has no TLS");
    }
    const TlsFiles& files = endpoint.tls_files;
    session_ = module_->open({.host = endpoint.host.c_str(),
                              .authorities = files.authorities.c_str(),
                              .certificate = files.certificate.c_str(),
                              .key = files.key.c_str()},
                             failure_);
    if (session_ == nullptr) fail();
  }

  ~TlsStream() override {
    // Polite where it costs no wait: a server may log an end that nobody announced.
    if (is_open_ && !is_ended_) module_->end(session_, failure_);
    if (session_ != nullptr) module_->close(session_);
  }

  void shake_hands(Fd socket, const Deadline& deadline) {
    socket_ = std::move(socket);
    module_->attach(session_, socket_.get());
    while (const short events = events_after(module_->shake_hands(session_, failure_))) {
      if (!wait_for(socket_.get(), events, deadline)) {
        throw Unavailable("no answer to the TLS handshake " + in_time(deadline) +
                          "; if that port does not speak TLS, use redis://");
      }
    }
    is_open_ = true;
  }

  Step read(std::span<char> buffer) override {
    Step step;
    step.wait_for =
        events_after(module_->read(session_, buffer.data(), buffer.size(), step.bytes, failure_));
    return step;
  }

  Step write(std::string_view bytes) override {
    Step step;
    step.wait_for =
        events_after(module_->write(session_, bytes.data(), bytes.size(), step.bytes, failure_));
    return step;
  }

  Step end() override {
    const Step step{.wait_for = events_after(module_->end(session_, failure_))};
    if (step.wait_for != 0) return step;
    is_ended_ = true;
    ::shutdown(socket_.get(), SHUT_WR);
    return step;
  }

  [[nodiscard]] bool has_read_ahead() const noexcept override {
    return module_->has_read_ahead(session_);
  }
  [[nodiscard]] int fd() const noexcept override { return socket_.get(); }

 private:
  // Returns what to wait for, 0 if the step was done.
  short events_after(tls::State state) {
    switch (state) {
      case tls::State::done:
        return 0;
      case tls::State::wants_input:
        return POLLIN;
      case tls::State::wants_output:
        return POLLOUT;
      case tls::State::ended:
        is_open_ = false;
        throw Unavailable("redis at " + server_ + " closed the connection");
      case tls::State::failed:
        break;
    }
    fail();
  }

  [[noreturn]] void fail() {
    const bool was_open = std::exchange(is_open_, false);
    const std::string why = escape_for_terminal(failure_.text);
    switch (failure_.kind) {
      case tls::Failure::Kind::files:
        throw Error(ExitStatus::config, why);
      case tls::Failure::Kind::refused:
        throw TlsRefused(failure_.cause, server_ + ": " + why);
      case tls::Failure::Kind::foreign:
        throw ProtocolError(server_, "does not speak TLS (" + why + ")");
      case tls::Failure::Kind::lost:
        break;
    }
    if (!was_open) throw Unavailable("TLS handshake: " + why);
    throw Unavailable("lost the connection to redis at " + server_ + ": " + why);
  }

  std::string server_;
  const tls::Module* module_;
  tls::Session* session_ = nullptr;
  tls::Failure failure_{};
  Fd socket_;
  bool is_open_ = false;   // data can be exchanged
  bool is_ended_ = false;  // by us
};

}  // namespace

std::unique_ptr<Stream> connect_tls(const Endpoint& endpoint, const Deadline& deadline) {
  auto stream = std::make_unique<TlsStream>(endpoint);
  stream->shake_hands(connect_tcp(endpoint, deadline), deadline);
  return stream;
}

}  // namespace rlock::redis
