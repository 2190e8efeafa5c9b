#include "redis/server_error.hpp"

#include <algorithm>
#include <array>

#include "base/escape.hpp"

namespace rlock::redis {
namespace {

// Returns the server's text without the position in rlock's script, which does not help the user.
std::string without_script(std::string text) {
  text = text.substr(0, text.find(" script: "));
  // "ERR Error running script (call to f_...): @user_script:7: @user_script: 7: -OOM command ..."
  constexpr std::string_view k_place = "user_script:";
  while (true) {
    const std::size_t place = text.find(k_place);
    if (place == std::string::npos) return text;
    const std::size_t end = text.find(": ", place + k_place.size() + 1);
    if (end == std::string::npos) return text.substr(0, text.find(" (call to"));
    text.erase(0, end + 2);
    if (text.starts_with('-')) text.erase(0, 1);
  }
}

std::string code_of(const std::string& text) {
  const std::string bare = without_script(text);
  return bare.substr(0, bare.find(' '));
}

struct Rule {
  std::string_view code;
  ExitStatus status;
  const char* words;  // what has happened, and what to do; empty: missing_right says it
};

constexpr const char* k_unknown_user = "the server rejects the user or the password";
constexpr const char* k_no_password =
    "the server's default user has no password: give none, or set one on the server";
constexpr const char* k_cluster =
    "the server is a node of a cluster: use redis-cluster://HOST:PORT";
constexpr const char* k_not_now = "the server cannot carry out a request now";

// The first code that fits decides. The last one always fits.
constexpr std::array k_rules = {
    Rule{"NOAUTH", ExitStatus::permission, "the server requires a password"},
    Rule{"WRONGPASS", ExitStatus::permission, k_unknown_user},
    Rule{"NOPERM", ExitStatus::permission, ""},
    Rule{"DENIED", ExitStatus::permission,
         "the server accepts only clients on its own host (protected mode): set a password on it"},
    Rule{"ERR invalid password", ExitStatus::permission, k_unknown_user},
    Rule{"ERR AUTH", ExitStatus::permission, k_no_password},
    Rule{"ERR Client sent AUTH", ExitStatus::permission, k_no_password},
    // A user who may run scripts, but not a command in one, or not on its keys.
    Rule{"ERR ACL failure in script", ExitStatus::permission, ""},
    Rule{"ERR The user executing the script", ExitStatus::permission, ""},
    Rule{"The user executing the script", ExitStatus::permission, ""},
    Rule{"LOADING", ExitStatus::unavailable, "the server is still reading its data: try again"},
    Rule{"BUSY", ExitStatus::unavailable,
         "a script of another client blocks the server: SCRIPT KILL ends that script"},
    Rule{"READONLY", ExitStatus::unavailable,
         "the server is a replica, which grants no locks: connect to its master"},
    Rule{"OOM", ExitStatus::unavailable,
         "the server's memory is full: it grants no locks until there is room (maxmemory)"},
    Rule{"MISCONF", ExitStatus::unavailable,
         "the server cannot save its data and refuses writes: see its log and its disk"},
    Rule{"MASTERDOWN", ExitStatus::unavailable,
         "the server is a replica that has lost its master: connect to the master"},
    Rule{"NOREPLICAS", ExitStatus::unavailable,
         "the server refuses writes until more replicas are connected (min-replicas-to-write)"},
    Rule{"CLUSTERDOWN", ExitStatus::unavailable,
         "the cluster is down, or the part of it that keeps this lock"},
    Rule{"TRYAGAIN", ExitStatus::unavailable, "the lock's slot is being moved: try again"},
    Rule{"UNKILLABLE", ExitStatus::unavailable, k_not_now},
    Rule{"UNBLOCKED", ExitStatus::unavailable, k_not_now},
    Rule{"ERR max number of clients", ExitStatus::unavailable,
         "the server accepts no more clients (maxclients)"},
    Rule{"MOVED", ExitStatus::config, k_cluster},
    Rule{"ASK", ExitStatus::config, k_cluster},
    Rule{"CROSSSLOT", ExitStatus::config,
         "the lock's keys lie in different slots of the cluster: choose another name"},
    Rule{"ERR DB index", ExitStatus::config,
         "the server has no such database: check the number at the end of the URL"},
    Rule{"ERR SELECT is not allowed", ExitStatus::config,
         "a cluster has only database 0: check the number at the end of the URL"},
    Rule{"", ExitStatus::wrong_kind, "the server refuses a request"},
};

const Rule& find_rule(const std::string& text) {
  return *std::ranges::find_if(k_rules,
                               [&](const Rule& rule) { return is_error(text, rule.code); });
}

// In a script, Redis before 7.2 does not name the command that the user is not allowed to run.
constexpr const char* k_unnamed_right =
    "this user is not allowed to run a command that rlock's scripts need; see Access control in "
    "man rlock";

// Returns what the user is not allowed to do.
std::string missing_right(const std::string& text) {
  constexpr std::string_view k_before = "to run the '";
  std::string what;
  if (const std::size_t start = text.find(k_before); start != std::string::npos) {
    const std::size_t name = start + k_before.size();
    what = "run " + escape_for_terminal(text.substr(name, text.find('\'', name) - name));
  } else if (text.find("channel") != std::string::npos) {
    what = "listen or publish on a channel of the lock";
  } else if (text.find(" key") != std::string::npos) {
    what = "use a key of the lock";
  }
  if (what.empty()) return k_unnamed_right;
  return "this user is not allowed to " + what + "; see Access control in man rlock";
}

std::string words_for(const std::string& text) {
  const std::string words = find_rule(text).words;
  return words.empty() ? missing_right(text) : words;
}

}  // namespace

ServerError::ServerError(const std::string& server, const std::string& text)
    : Error(find_rule(text).status, server + ": " + words_for(text) + "; the server says: " +
                                        escape_for_terminal(without_script(text))),
      server_(server),
      code_(code_of(text)),
      words_end_(server.size() + 2 + words_for(text).size()),
      lacks_unnamed_right_(words_for(text) == k_unnamed_right) {}

std::string ServerError::message_with(const std::string& advice) const {
  std::string message = what();
  if (advice.empty()) return message;
  return message.substr(0, words_end_) + ": " + advice + message.substr(words_end_);
}

bool is_error(const std::string& text, std::string_view code) {
  // Redis before 7 puts a position before an error inside a script, also if the script returns it.
  return text.starts_with(code) || without_script(text).starts_with(code);
}

}  // namespace rlock::redis
