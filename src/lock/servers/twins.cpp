#include "lock/servers/twins.hpp"

#include <string>

#include "lock/words/refused.hpp"
#include "redis/server_error.hpp"

namespace rlock::lock {

void TwinCheck::note(std::size_t server, redis::Client& client) const {
  if (!runs_) return;
  const redis::Reply reply = client.command({"INFO", "server"});
  if (reply.is_error()) throw redis::ServerError(client.options().endpoint.display(), reply.text);
  const std::string run = redis::run_id_in(reply);
  if (run.empty()) throw redis::ProtocolError("a server that does not tell its run");
  runs_->note_run(server, run);
}

void refuse_twins(const Session& session) {
  if (const auto twins = session.absentees()->twins()) {
    throw Refused(Refused::Why::is_one_server, *twins + " (" + session.display() + ")");
  }
}

}  // namespace rlock::lock
