#include "tls/failure.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace rlock::tls {
namespace {

// Returns what there was too little of; null if it was something else that went wrong.
const char* find_lack(unsigned long error) {
  // Without an error, there was no memory to keep one in.
  if (error == 0 || ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) return "out of memory";
  if (!ERR_SYSTEM_ERROR(error)) return nullptr;
  const int reason = ERR_GET_REASON(error);
  if (reason == EMFILE || reason == ENFILE) return "too many open files";
  return reason == ENOMEM ? "out of memory" : nullptr;
}

// A certificate that was checked and not accepted.
void explain_certificate(long result, const char* host, Failure& failure) {
  const char* why = X509_verify_cert_error_string(result);
  switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      tell(failure, Failure::Kind::refused, "the server's certificate is not for %s (%s)", host,
           why);
      return;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      tell(failure, Failure::Kind::refused,
           "no trusted authority has signed the server's certificate (%s)", why);
      failure.cause = Failure::Cause::authorities;
      return;
    default:
      tell(failure, Failure::Kind::refused, "the server's certificate is not valid (%s)", why);
  }
}

bool is_no_tls(int reason) {
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_UNEXPECTED_MESSAGE:
      return true;
    default:
      return false;
  }
}

constexpr const char* k_versions = "; rlock needs TLS 1.2 or later";

// What the server may have meant by an alert.
Failure::Cause cause_of_alert(int alert, bool has_certificate) {
  using Cause = Failure::Cause;
  switch (alert) {
    case SSL_AD_CERTIFICATE_REQUIRED:
      return Cause::certificate_missing;
    case SSL_AD_HANDSHAKE_FAILURE:
      return has_certificate ? Cause::other : Cause::certificate_unknown;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
      return has_certificate ? Cause::certificate_rejected : Cause::other;
    default:
      return Cause::other;
  }
}

const char* hint_of_alert(int alert, Failure::Cause cause) {
  if (alert == SSL_AD_PROTOCOL_VERSION) return k_versions;
  if (cause == Failure::Cause::certificate_missing) return "; it requires a client certificate";
  return cause == Failure::Cause::certificate_rejected ? "; it rejects the certificate" : "";
}

// Explains an alert of the server. OpenSSL's text starts with a version, "tlsv13 alert", which is
// not the version of the connection.
void explain_alert(const SSL* ssl, int alert, const char* text, Failure& failure) {
  const char* word = std::strstr(text, "alert ");
  const char* why = word == nullptr ? text : word + std::strlen("alert ");
  if (alert == SSL_AD_INTERNAL_ERROR || alert == SSL_AD_USER_CANCELLED) {
    tell(failure, Failure::Kind::lost, "the server gave up (%s)", why);
  } else {
    const auto cause = cause_of_alert(alert, SSL_get_certificate(ssl) != nullptr);
    tell(failure, Failure::Kind::refused, "the server refused the TLS handshake (%s)%s", why,
         hint_of_alert(alert, cause));
    failure.cause = cause;
  }
}

const char* reason_text(unsigned long error) {
  const char* text = ERR_reason_error_string(error);
  return text == nullptr ? "unknown error" : text;
}

void explain_library(const SSL* ssl, Phase phase, unsigned long error, const char* host,
                     Failure& failure) {
  const int reason = ERR_GET_REASON(error);
  const char* why = reason_text(error);
  if (find_lack(error) != nullptr || reason == SSL_R_BIO_NOT_SET) {
    tell(failure, Failure::Kind::lost, "out of memory");
  } else if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    explain_certificate(SSL_get_verify_result(ssl), host, failure);
  } else if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    tell(failure, Failure::Kind::lost, "the server closed the connection");
  } else if (reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) {
    // Behind the handshake, too: in TLS 1.3 a server looks at our certificate after it.
    explain_alert(ssl, reason - SSL_AD_REASON_OFFSET, why, failure);
  } else if (phase == Phase::data) {
    tell(failure, Failure::Kind::lost, "%s", why);
  } else if (is_no_tls(reason)) {
    tell(failure, Failure::Kind::foreign, "%s", why);
  } else {
    tell(failure, Failure::Kind::refused, "TLS handshake: %s%s", why,
         reason == SSL_R_UNSUPPORTED_PROTOCOL ? k_versions : "");
  }
}

}  // namespace

void tell(Failure& failure, Failure::Kind kind, const char* format, ...) noexcept {
  failure.kind = kind;
  failure.cause = Failure::Cause::other;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(failure.text, sizeof failure.text, format, arguments);
  va_end(arguments);
}

void tell_of_file(Failure& failure, const char* file, const char* what) noexcept {
  const char* lack = find_lack(ERR_peek_error());
  tell(failure, lack == nullptr ? Failure::Kind::files : Failure::Kind::lost, "%s: %s", file,
       lack == nullptr ? what : lack);
}

void explain(const SSL* ssl, Phase phase, int system_error, const char* host,
             Failure& failure) noexcept {
  const unsigned long error = ERR_peek_error();
  if (error != 0 && ERR_GET_LIB(error) != ERR_LIB_SYS) {
    explain_library(ssl, phase, error, host, failure);
  } else if (system_error != 0) {
    char buffer[128];
    tell(failure, Failure::Kind::lost, "%s", strerror_r(system_error, buffer, sizeof buffer));
  } else {
    tell(failure, Failure::Kind::lost, "the server closed the connection");
  }
}

}  // namespace rlock::tls
