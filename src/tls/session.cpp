// The TLS module's entry and its sessions.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "tls/context.hpp"
#include "tls/failure.hpp"
#include "tls/footprint.hpp"
#include "tls/module.hpp"
#include "tls/socket_bio.hpp"

namespace rlock::tls {

struct Session {
  SSL* ssl;
  char* host;
  Phase phase;
  bool is_small;
};

namespace {

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
