// What rlock and its TLS module, which is loaded only when it is needed, say to each other. Nothing
// but plain data and plain functions: no exception and no C++ object may cross.
#pragma once

#include <cstddef>

namespace rlock::tls {

// One connection's state; only the module knows what is in it.
struct Session;

// Each text may be empty, none may be null.
struct Options {
  const char* host;         // who the server must prove to be: a name or an address
  const char* authorities;  // file (PEM) of those who may vouch for it; empty: the system's
  const char* certificate;  // file (PEM) that says who we are, and
  const char* key;          // the file of its key
};

struct Failure {
  enum class Kind : int {
    files,    // one of the given files is of no use
    refused,  // one side does not accept the other: its certificate, its protocols
    foreign,  // what came is no TLS
    lost,     // the connection broke
  };
  Kind kind;
  char text[256];  // why, for people; may hold any byte of `Options`
};

// What came of a step. `wants_input`, `wants_output`: nothing; the same step may go on when the
// socket is readable, or writable. `failed`: `Failure` says why, and only `close` is of use now.
enum class State : int { done, wants_input, wants_output, ended, failed };

struct Module {
  // Reads the files. Returns nothing if `failure` says why.
  Session* (*open)(const Options& options, Failure& failure);
  // From now on the session speaks through a connected, non-blocking socket, which stays the
  // caller's.
  void (*attach)(Session* session, int fd);
  // The next step on the way to where data can be exchanged: the server has proved who it is.
  State (*shake_hands)(Session* session, Failure& failure);
  // Reads into `buffer`; `got` (> 0) if done. `ended`: the server will send no more.
  State (*read)(Session* session, char* buffer, std::size_t size, std::size_t& got,
                Failure& failure);
  // Writes the start of `data`; `taken` (> 0) if done. When the step goes on later, `data` must
  // start with the same bytes.
  State (*write)(Session* session, const char* data, std::size_t size, std::size_t& taken,
                 Failure& failure);
  // True if `read` returns something without reading from the socket.
  bool (*has_read_ahead)(const Session* session);
  // Tells the server that no more data follow.
  State (*end)(Session* session, Failure& failure);
  void (*close)(Session* session);
};

// The module's only symbol. Its number grows when anything above changes.
inline constexpr const char* k_entry = "rlock_tls_module_1";
using Entry = const Module* (*)();

}  // namespace rlock::tls
