#include "tls/socket_bio.hpp"

#include <cerrno>
#include <cstdint>
#include <openssl/bio.h>
#include <pthread.h>
#include <sys/socket.h>

namespace rlock::tls {
namespace {

int descriptor(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

bool is_transient(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

int read(BIO* bio, char* buffer, std::size_t size, std::size_t* got) {
  BIO_clear_retry_flags(bio);
  const ssize_t result = ::recv(descriptor(bio), buffer, size, MSG_DONTWAIT);
  *got = result > 0 ? static_cast<std::size_t>(result) : 0;
  if (result < 0 && is_transient(errno)) BIO_set_retry_read(bio);
  if (result == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return result > 0 ? 1 : 0;
}

int write(BIO* bio, const char* data, std::size_t size, std::size_t* taken) {
  BIO_clear_retry_flags(bio);
  const ssize_t result = ::send(descriptor(bio), data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  *taken = result > 0 ? static_cast<std::size_t>(result) : 0;
  if (result < 0 && is_transient(errno)) BIO_set_retry_write(bio);
  return result > 0 ? 1 : 0;
}

long control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;
    case BIO_CTRL_EOF:
      return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    default:
      return 0;
  }
}

// One for all sessions, and for ever. (A static in a function would need the C++ library.)
BIO_METHOD* method = nullptr;
pthread_once_t method_once = PTHREAD_ONCE_INIT;

void make_method() {
  method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
  if (method == nullptr) return;
  BIO_meth_set_read_ex(method, read);
  BIO_meth_set_write_ex(method, write);
  BIO_meth_set_ctrl(method, control);
}

}  // namespace

BIO* new_socket_bio(int fd) noexcept {
  ::pthread_once(&method_once, make_method);
  BIO* bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace rlock::tls
