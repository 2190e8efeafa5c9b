// The servers of a quorum that take no part in it. The others decide without them, so that nobody
// would ever hear of one that is set up wrongly.
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
class Absentees {
 public:
  // lasting: but for what time may mend, such as a server that is down.
  enum class Which { lasting, all };

  // Tells how messages are to name a server, counted from 0: its URL.
  void set_name(std::size_t server, const std::string& url);

  // To be called while an exception is handled, which is what a request to `server` has failed
  // with. Notes an Error that is the server's first, and returns the exception.
  std::exception_ptr note_failure(std::size_t server);

  // Notes which run of a server has answered. One that answers for two servers has no second vote.
  void note_run(std::size_t server, const std::string& run);

  // The same of the run that answers `client`. Costs a question. To be asked before what the server
  // answers counts: where two of a majority are one, that is known by then. Throws as
  // redis::Client::command, and redis::ServerError if the server may not be asked.
  void ask_run(std::size_t server, redis::Client& client);

  // Returns which of the servers were found to be one and the same, if there are any: what to say.
  [[nodiscard]] std::optional<std::string> twins();

  // Returns what was noted and not returned before, a line each.
  [[nodiscard]] std::vector<std::string> news(Which which);

 private:
  struct Absence {
    std::string text;
    bool is_told = false;
  };

  std::mutex mutex_;
  std::map<std::pair<std::size_t, Which>, Absence> absences_;
  std::map<std::size_t, std::string> names_;
  std::map<std::size_t, std::string> runs_;  // the last of each server
  std::optional<std::string> twins_;
};

}  // namespace rlock::lock
