// The servers of a quorum that take no part in it. The others decide without them. So without a
// report, nobody would hear of a server that is set up wrongly.
#pragma once

#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "redis/client.hpp"

namespace rlock::lock {

// Thread-safe: all sessions of a run share one.
class UnreachableServers {
 public:
  // lasting: only failures that time does not repair, so not a server that is down.
  enum class Which { lasting, all };

  // Sets the URL by which notes name a server. Servers are counted from 0.
  void set_name(std::size_t server, const std::string& url);

  // Call it in the handler of an exception that a request to `server` threw. Notes the server's
  // first Error of each kind, and returns the exception.
  std::exception_ptr note_failure(std::size_t server);

  // Notes which run of a server answered. If two servers name the same run, they are twins.
  void note_run(std::size_t server, const std::string& run);

  // Asks `client` for the server's run (one request), and notes it. Call it before the question
  // whose answer counts: then twins in a majority are known in time. Throws as
  // redis::Client::command, and redis::ServerError if the user is not allowed to ask for the run.
  void ask_run(std::size_t server, redis::Client& client);

  // Returns which two servers are twins, as a sentence, or nothing if none were found.
  [[nodiscard]] std::optional<std::string> twins();

  // Returns the notes that no earlier call returned, a sentence each.
  [[nodiscard]] std::vector<std::string> changes(Which which);

 private:
  struct Kept {
    std::string note;
    bool is_told = false;
  };

  std::mutex mutex_;
  std::map<std::pair<std::size_t, Which>, Kept> notes_;
  std::map<std::size_t, std::string> names_;
  std::map<std::size_t, std::string> runs_;  // the last run of each server
  std::optional<std::string> twins_;
};

}  // namespace rlock::lock
