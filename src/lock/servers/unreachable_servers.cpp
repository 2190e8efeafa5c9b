#include "lock/servers/unreachable_servers.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {
namespace {

// Users count servers from 1.
std::string describe_server(std::size_t server) { return "server " + std::to_string(server + 1); }

std::string describe_absence(std::size_t server, const std::string& url, const std::string& why) {
  return describe_server(server) + (why.find(url) == std::string::npos ? " (" + url + ")" : "") +
         " takes no part: " + why;
}

}  // namespace

void UnreachableServers::set_name(std::size_t server, const std::string& url) {
  const std::lock_guard guard(mutex_);
  names_[server] = url;
}

std::exception_ptr UnreachableServers::note_failure(std::size_t server) {
  try {
    throw;
  } catch (const Error& error) {
    const Which kind = error.is_temporary() ? Which::all : Which::lasting;
    const std::lock_guard guard(mutex_);
    notes_.try_emplace({server, kind},
                       Kept{describe_absence(server, names_[server], error.what())});
  } catch (...) {  // the session ends
  }
  return std::current_exception();
}

void UnreachableServers::note_run(std::size_t server, const std::string& run) {
  const std::lock_guard guard(mutex_);
  runs_[server] = run;
  for (const auto& [other, its_run] : runs_) {
    if (other == server || its_run != run) continue;
    twins_ = describe_server(std::min(server, other)) + " and " +
             describe_server(std::max(server, other)) + " are one and the same";
    notes_.try_emplace({server, Which::lasting}, Kept{*twins_});
  }
}

void UnreachableServers::ask_run(std::size_t server, redis::Client& client) {
  const redis::Reply reply = client.command({"INFO", "server"});
  if (reply.is_error()) throw redis::ServerError(client.options().endpoint.display(), reply.text);
  const std::string run = redis::run_id_in(reply);
  if (run.empty()) throw redis::ProtocolError("a server that does not tell its run");
  note_run(server, run);
}

std::optional<std::string> UnreachableServers::twins() {
  const std::lock_guard guard(mutex_);
  return twins_;
}

std::vector<std::string> UnreachableServers::changes(Which which) {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> changes;
  for (auto& [key, kept] : notes_) {
    const auto& [server, kind] = key;
    if (kept.is_told || (kind == Which::all && which == Which::lasting)) continue;
    changes.push_back(kept.note);
    kept.is_told = true;
  }
  return changes;
}

}  // namespace rlock::lock
