// The TLS module's entry and its sessions.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "tls/context.hpp"
#include "tls/failure.hpp"
#include "tls/footprint.hpp"
#include "tls/module.hpp"

namespace rlock::tls {

struct Session {
  SSL* ssl;
  char* host;
  Phase phase;
  bool is_small;
};

namespace {

int descriptor(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

bool is_transient(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

int receive(BIO* bio, char* buffer, std::size_t size, std::size_t* got) {
  BIO_clear_retry_flags(bio);
  const ssize_t result = ::recv(descriptor(bio), buffer, size, MSG_DONTWAIT);
  *got = result > 0 ? static_cast<std::size_t>(result) : 0;
  if (result < 0 && is_transient(errno)) BIO_set_retry_read(bio);
  if (result == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return result > 0 ? 1 : 0;
}

int transmit(BIO* bio, const char* data, std::size_t size, std::size_t* taken) {
  BIO_clear_retry_flags(bio);
  const ssize_t result = ::send(descriptor(bio), data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  *taken = result > 0 ? static_cast<std::size_t>(result) : 0;
  if (result < 0 && is_transient(errno)) BIO_set_retry_write(bio);
  return result > 0 ? 1 : 0;
}

long control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

// One for all sessions, and forever. (A static in a function would need the C++ library.)
BIO_METHOD* method = nullptr;
pthread_once_t method_once = PTHREAD_ONCE_INIT;

void make_method() {
  method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
  if (method == nullptr) return;
  BIO_meth_set_read_ex(method, receive);
  BIO_meth_set_write_ex(method, transmit);
  BIO_meth_set_ctrl(method, control);
}

// Returns a BIO on a non-blocking socket, or null if there is no memory. The caller still owns the
// socket. Unlike OpenSSL's own BIO, it never raises SIGPIPE.
BIO* new_socket_bio(int fd) {
  ::pthread_once(&method_once, make_method);
  BIO* bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

void close(Session* session) {
  SSL_free(session->ssl);
  std::free(session->host);
  std::free(session);
}

Session* open(const Options& options, Failure& failure) {
  // No clean-up at the end of the process: other threads may still be at work then.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
  SSL_CTX* context = new_context(options, failure);
  if (context == nullptr) return nullptr;
  auto* session = static_cast<Session*>(std::calloc(1, sizeof(Session)));
  if (session != nullptr)
    *session = {SSL_new(context), ::strdup(options.host), Phase::handshake, false};
  SSL_CTX_free(context);  // the session keeps it
  if (session == nullptr || session->host == nullptr || session->ssl == nullptr) {
    tell(failure, Failure::Kind::lost, "out of memory");
  } else if (expect_host(session->ssl, options.host)) {
    return session;
  } else {
    tell(failure, Failure::Kind::files, "%.200s: cannot be the name in a certificate",
         options.host);
  }
  if (session != nullptr) close(session);
  return nullptr;
}

void attach(Session* session, int fd) {
  BIO* bio = new_socket_bio(fd);
  SSL_set_bio(session->ssl, bio, bio);
  SSL_set_connect_state(session->ssl);
}

// Each step starts with an empty queue of errors, so that what is in it afterwards is its own.
void prepare() {
  ERR_clear_error();
  errno = 0;
}

// What has become of the step that has returned `result`.
State judge(Session* session, int result, Failure& failure) {
  const int system_error = errno;
  switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_NONE:
      return State::done;
    case SSL_ERROR_WANT_READ:
      return State::wants_input;
    case SSL_ERROR_WANT_WRITE:
      return State::wants_output;
    case SSL_ERROR_ZERO_RETURN:
      return State::ended;
    default:
      explain(session->ssl, session->phase, system_error, session->host, failure);
      return State::failed;
  }
}

State shake_hands(Session* session, Failure& failure) {
  prepare();
  const State state = judge(session, SSL_do_handshake(session->ssl), failure);
  if (state == State::done) session->phase = Phase::data;
  return state;
}

State read(Session* session, char* buffer, std::size_t size, std::size_t& got, Failure& failure) {
  prepare();
  const State state = judge(session, SSL_read_ex(session->ssl, buffer, size, &got), failure);
  // Only now is the handshake over: in TLS 1.3 its last messages come before the first data.
  if (state == State::done && !session->is_small) {
    session->is_small = true;
    give_back_memory(session->ssl);
  }
  return state;
}

State write(Session* session, const char* data, std::size_t size, std::size_t& taken,
            Failure& failure) {
  prepare();
  const State state = judge(session, SSL_write_ex(session->ssl, data, size, &taken), failure);
  if (state != State::failed || failure.kind != Failure::Kind::lost) return state;
  // A server that has left may have said why.
  prepare();
  char byte = 0;
  std::size_t got = 0;
  Failure farewell{};
  if (read(session, &byte, 1, got, farewell) == State::failed &&
      farewell.kind == Failure::Kind::refused) {
    failure = farewell;
  }
  return state;
}

bool has_read_ahead(const Session* session) { return SSL_pending(session->ssl) > 0; }

State end(Session* session, Failure& failure) {
  prepare();
  const int result = SSL_shutdown(session->ssl);
  return result >= 0 ? State::done : judge(session, result, failure);  // 0: the server's is to come
}

constexpr Module k_module{open, attach, shake_hands, read, write, has_read_ahead, end, close};

}  // namespace
}  // namespace rlock::tls

extern "C" [[gnu::visibility("default")]] const rlock::tls::Module* rlock_tls_module_2() {
  return &rlock::tls::k_module;
}
