// The interface between rlock and its TLS module, which is loaded only when it is needed. It has
// only plain data and plain functions. No exception and no C++ object may cross it.
#pragma once

#include <cstddef>

namespace rlock::tls {

// The state of one connection. Only the module knows its content.
struct Session;

// Each text may be empty, none may be null. The files are PEM.
struct Options {
  const char* host;         // that the server must prove to be: a name or an address
  const char* authorities;  // file of the trusted authorities; empty: the system's
  const char* certificate;  // file of the client's certificate chain
  const char* key;          // file of the client's private key
};

struct Failure {
  enum class Kind : int {
    files,    // one of the given files cannot be used
    refused,  // one side does not accept the other's certificate or protocols
    foreign,  // the server does not speak TLS
    lost,     // the connection broke
  };
  // Of a refusal: which of `Options` the user may have to change.
  enum class Cause : int {
    other,                 // none
    authorities,           // none of them has signed the server's certificate
    certificate_missing,   // the server requires one of the client
    certificate_unknown,   // there is none, and the server may require one
    certificate_rejected,  // the server does not accept the client's
  };
  Kind kind;
  Cause cause;
  char text[256];  // the reason, for people; may contain any byte of `Options`
};

// The result of a step. `wants_input`, `wants_output`: nothing happened; call the same step again
// when the socket is readable, or writable. `ended`: see `read`. `failed`: `Failure` says why, and
// only `close` may be called now.
enum class State : int { done, wants_input, wants_output, ended, failed };

struct Module {
  // Reads the files and makes a session. Returns null if that fails; `failure` says why.
  Session* (*open)(const Options& options, Failure& failure);
  // From now on the session uses this connected, non-blocking socket. The caller still owns it.
  void (*attach)(Session* session, int fd);
  // The next step of the handshake. `done`: the server has proved to be `host`.
  State (*shake_hands)(Session* session, Failure& failure);
  // Reads into `buffer`. `done`: `got` (> 0) bytes were read. `ended`: the server will send no
  // more.
  State (*read)(Session* session, char* buffer, std::size_t size, std::size_t& got,
                Failure& failure);
  // Writes the start of `data`. `done`: `taken` (> 0) bytes were written. When the step is called
  // again, `data` must start with the same bytes.
  State (*write)(Session* session, const char* data, std::size_t size, std::size_t& taken,
                 Failure& failure);
  // Returns whether `read` has data without reading from the socket.
  bool (*has_read_ahead)(const Session* session);
  // Tells the server that no more data follow.
  State (*end)(Session* session, Failure& failure);
  // Frees the session.
  void (*close)(Session* session);
};

// The module's only symbol. Its number grows when anything above changes.
inline constexpr const char* k_entry = "rlock_tls_module_2";
using Entry = const Module* (*)();

}  // namespace rlock::tls
