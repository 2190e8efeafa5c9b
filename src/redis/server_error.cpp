#include "redis/server_error.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "base/escape.hpp"

namespace rlock::redis {
namespace {

using Rule = std::pair<std::string_view, ExitStatus>;

// The first prefix that fits decides.
constexpr std::array k_rules = {
    Rule{"NOAUTH", ExitStatus::permission},
    Rule{"WRONGPASS", ExitStatus::permission},
    Rule{"NOPERM", ExitStatus::permission},
    Rule{"DENIED", ExitStatus::permission},
    Rule{"ERR invalid password", ExitStatus::permission},
    Rule{"ERR AUTH", ExitStatus::permission},
    Rule{"ERR Client sent AUTH", ExitStatus::permission},
    // A user who may run scripts, but not a command in one, or not on its keys.
    Rule{"ERR ACL failure in script", ExitStatus::permission},
    Rule{"ERR The user executing the script", ExitStatus::permission},
    Rule{"The user executing the script", ExitStatus::permission},
    Rule{"LOADING", ExitStatus::unavailable},
    Rule{"BUSY", ExitStatus::unavailable},
    Rule{"READONLY", ExitStatus::unavailable},
    Rule{"OOM", ExitStatus::unavailable},
    Rule{"MISCONF", ExitStatus::unavailable},
    Rule{"MASTERDOWN", ExitStatus::unavailable},
    Rule{"NOREPLICAS", ExitStatus::unavailable},
    Rule{"CLUSTERDOWN", ExitStatus::unavailable},
    Rule{"TRYAGAIN", ExitStatus::unavailable},
    Rule{"UNKILLABLE", ExitStatus::unavailable},
    Rule{"UNBLOCKED", ExitStatus::unavailable},
    Rule{"ERR max number of clients", ExitStatus::unavailable},
    Rule{"MOVED", ExitStatus::config},
    Rule{"ASK", ExitStatus::config},
    Rule{"CROSSSLOT", ExitStatus::config},
    Rule{"ERR DB index", ExitStatus::config},
    Rule{"ERR SELECT is not allowed", ExitStatus::config},
};

// Returns what to do about an error that is a matter of where one asks.
std::string advice(const std::string& text) {
  const bool is_redirection = text.starts_with("MOVED ") || text.starts_with("ASK ");
  return is_redirection ? ": it is one of a cluster: give redis-cluster://HOST:PORT" : "";
}

}  // namespace

ServerError::ServerError(const std::string& server, const std::string& text)
    : Error(status_of_server_error(text), server + ": " + escape_for_terminal(text) + advice(text)),
      code_(text.substr(0, text.find(' '))) {}

bool is_error(const std::string& text, std::string_view code) {
  if (text.starts_with(code)) return true;
  // An error that redis.call raised inside a script arrives wrapped by some versions.
  return text.starts_with("ERR Error running script") && text.find(code) != std::string::npos;
}

ExitStatus status_of_server_error(const std::string& text) {
  for (const auto& [prefix, status] : k_rules) {
    if (is_error(text, prefix)) return status;
  }
  return ExitStatus::wrong_kind;
}

}  // namespace rlock::redis
