// A program that locks with strings by another library, in a process of its own: python/peer.py,
// node/peer.mjs, go/main.go. They understand
//   acquire NAME TTL WAIT    (ms; WAIT 0: one try)    "yes VALUE" or "no ..."
//   extend NAME TTL, release NAME                     "yes" or "no ..."
#pragma once

#include <string>
#include <vector>

#include "support/process.hpp"

namespace rlock::test {

class StringPeer {
 public:
  // The command to start it, without the server's URL, is in the environment, a word a line:
  // RLOCK_TEST_STRING_PEER. Throws std::runtime_error when it does not come up within 60 s.
  explicit StringPeer(const std::string& url);

  void send(const std::string& line);
  // Returns the answer to the first line that has none yet. Throws std::runtime_error when it does
  // not come within 60 s.
  std::string answer();
  std::string ask(const std::string& line);
  // Takes the lock and returns its value; empty if it is busy.
  std::string acquire(const std::string& name, long ttl_ms);

 private:
  Process process_;
  std::size_t read_ = 0;  // how much of the output has been taken apart
};

}  // namespace rlock::test
