#include "lock/twins.hpp"

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

void TwinCheck::note(std::size_t server, redis::Client& client) const {
  if (!runs_) return;
  const redis::Reply reply = client.command({"INFO", "server"});
  if (reply.type == redis::Reply::Type::error) {
    throw redis::ServerError(client.options().endpoint.display(), reply.text);
  }
  const std::string& facts = reply.as_text();
  constexpr std::string_view k_key = "run_id:";
  const std::size_t at = facts.find(k_key);
  if (at == std::string::npos) throw redis::ProtocolError("a server that does not tell its run");
  const std::size_t start = at + k_key.size();
  runs_->note_run(server, facts.substr(start, facts.find_first_of("\r\n", start) - start));
}

void refuse_twins(const Session& session) {
  if (const auto twins = session.absentees()->twins()) {
    throw Error(ExitStatus::usage, *twins + ": " + session.display());
  }
}

}  // namespace rlock::lock
