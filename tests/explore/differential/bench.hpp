// Gives the same steps to the model and to a server, and compares what comes of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "explore/differential/inputs.hpp"
#include "explore/differential/server.hpp"
#include "explore/lua_host.hpp"

namespace rlock::explore {

struct Difference {
  std::size_t step;  // after which it showed
  std::string what;
};

struct Counts {
  std::map<std::string, std::uint64_t> commands, codes;
  std::map<std::string, std::map<std::string, std::uint64_t>> scripts;  // by what they answered
  std::uint64_t replies = 0, stores = 0, messages = 0;
};

class Bench {
 public:
  Bench(Server& server, LuaHost& host);

  // Starts from an empty store. Returns the first difference.
  std::optional<Difference> run(const History& history);
  // Returns a part of a history that differs, too, as short as it can be made; and sets how.
  History shorten(const History& history, Difference& difference);

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  void listen(const History& history);
  Words heard();
  [[nodiscard]] Words request_of(const Step& step) const;
  Reply on_model(const Step& step);
  std::optional<Difference> compare(const History& history, std::size_t from, std::size_t to);

  Server& server_;
  LuaHost& host_;
  Connection main_, listener_;
  std::map<std::string, std::string> sha1s_;  // of the scripts
  std::string run_id_;
  Store store_;
  std::vector<Reply> answers_;  // the model's, of the steps that were sent
  bool counts_now_ = true;
  Counts counts_;
};

// Returns a history as commands for a shell.
[[nodiscard]] std::string to_shell(const History& history);

}  // namespace rlock::explore
