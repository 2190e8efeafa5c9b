#include "tls/context.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tls/failure.hpp"

namespace rlock::tls {
namespace {

constexpr std::size_t k_longest_host = 256;

bool is_given(const char* text) { return *text != '\0'; }

bool is_readable(const char* file, Failure& failure) {
  struct stat status {};
  int error = ::stat(file, &status) != 0 || ::access(file, R_OK) != 0 ? errno : 0;
  if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
  if (error == 0) return true;
  char buffer[128];
  tell(failure, error == ENOMEM ? Failure::Kind::lost : Failure::Kind::files, "%s: %s", file,
       strerror_r(error, buffer, sizeof buffer));
  return false;
}

// OpenSSL would ask the terminal, which is the command's.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return -1; }

bool load_authorities(SSL_CTX* context, const char* file, Failure& failure) {
  if (!is_given(file)) {
    // Where there is none, no server is trusted, and that is what will be said.
    SSL_CTX_set_default_verify_paths(context);
    return true;
  }
  if (!is_readable(file, failure)) return false;
  ERR_clear_error();
  if (SSL_CTX_load_verify_file(context, file) == 1) return true;
  tell_of_file(failure, file, "contains no PEM certificate");
  return false;
}

bool load_certificate(SSL_CTX* context, const Options& options, Failure& failure) {
  if (!is_given(options.certificate)) return true;
  if (!is_readable(options.certificate, failure) || !is_readable(options.key, failure)) {
    return false;
  }
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, options.certificate) != 1) {
    tell_of_file(failure, options.certificate, "contains no usable PEM certificate");
    return false;
  }
  ERR_clear_error();
  if (SSL_CTX_use_PrivateKey_file(context, options.key, SSL_FILETYPE_PEM) == 1 &&
      SSL_CTX_check_private_key(context) == 1) {
    return true;
  }
  const unsigned long error = ERR_peek_error();
  if (ERR_GET_LIB(error) == ERR_LIB_X509) {
    tell(failure, Failure::Kind::files, "%s: not the key of the certificate in %s", options.key,
         options.certificate);
  } else {
    tell_of_file(failure, options.key, "contains no PEM private key without a passphrase");
  }
  return false;
}

}  // namespace

SSL_CTX* new_context(const Options& options, Failure& failure) noexcept {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
    const char* why = ERR_reason_error_string(ERR_peek_error());
    // No file of the user's is at fault: most often there is no memory.
    tell(failure, Failure::Kind::lost, "cannot set up TLS: %s",
         why == nullptr ? "out of memory" : why);
    SSL_CTX_free(context);
    return nullptr;
  }
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // A certificate in the file of authorities is trusted even if another authority signed it.
  X509_VERIFY_PARAM* rules = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (load_authorities(context, options.authorities, failure) &&
      load_certificate(context, options, failure)) {
    return context;
  }
  SSL_CTX_free(context);
  return nullptr;
}

bool expect_host(SSL* ssl, const char* host) noexcept {
  char name[k_longest_host];
  const std::size_t size = std::strlen(host);
  if (size == 0 || size >= sizeof name) return false;
  std::memcpy(name, host, size + 1);

  // fe80::1%eth0: the interface is nobody's name.
  in6_addr address{};
  char* const scope = std::strchr(name, '%');
  if (scope != nullptr) *scope = '\0';
  if (::inet_pton(AF_INET, name, &address) == 1 || ::inet_pton(AF_INET6, name, &address) == 1) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
  }
  if (scope != nullptr) *scope = '%';
  // A name may end with the root's dot, certificates have none.
  if (size > 1 && name[size - 1] == '.') name[size - 1] = '\0';
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name) == 1 &&
         SSL_set1_host(ssl, name) == 1;
}

}  // namespace rlock::tls
