#include "cli/output/error_text.hpp"

#include <algorithm>

#include "base/escape.hpp"
#include "base/wording.hpp"
#include "cli/output/remedy.hpp"
#include "cli/output/view_text.hpp"
#include "lock/inspection/server_info.hpp"
#include "redis/client.hpp"
#include "redis/reply.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

// Asks a server that has refused a request for the address of its master. Returns nothing if that
// cannot be learnt soon.
std::string master_of(const std::string& server, const Globals& globals) {
  constexpr Milliseconds k_most{1000};
  try {
    for (redis::ClientOptions options : globals.clients_options()) {
      if (options.endpoint.display() != server) continue;
      options.timeout = std::min(options.timeout, k_most);
      redis::Client client(options);
      const redis::Reply info = client.command({"INFO", "replication"});
      const auto replication = lock::replication_of(lock::parse_info(info.text));
      if (replication && replication->master) return describe_address(*replication->master);
    }
  } catch (const Error&) {  // the error to be described says more
  }
  return "";
}

// Returns what to do, or nothing.
std::string advice(const redis::ServerError& error, const Globals& globals) {
  if (error.code() == "NOAUTH") return "give --password-file, or set RLOCK_PASSWORD";
  if (error.code() == "WRONGPASS") return "check --user and --password-file";
  const bool is_of_replica = error.code() == "READONLY" || error.code() == "MASTERDOWN";
  return is_of_replica ? master_of(error.server(), globals) : "";
}

// Returns what follows the message.
const char* advice(redis::TlsRefused::Cause cause) {
  using Cause = redis::TlsRefused::Cause;
  switch (cause) {
    case Cause::authorities:
      return ": give the right authority with --tls-ca";
    case Cause::certificate_missing:
      return ": give --tls-cert and --tls-key";
    case Cause::certificate_unknown:
      return "; if it requires a client certificate, give --tls-cert and --tls-key";
    case Cause::certificate_rejected:
      return " of --tls-cert";
    case Cause::other:
      break;
  }
  return "";
}

// Returns whether the message is about a server, and so tells of no lock.
bool is_of_server(const Error& error) {
  return dynamic_cast<const redis::Unavailable*>(&error) != nullptr ||
         dynamic_cast<const redis::ServerError*>(&error) != nullptr ||
         dynamic_cast<const redis::ProtocolError*>(&error) != nullptr ||
         dynamic_cast<const redis::TlsRefused*>(&error) != nullptr;
}

std::string message_of(const Error& error, const Globals& globals) {
  if (const auto* refusal = dynamic_cast<const redis::ServerError*>(&error)) {
    if (refusal->lacks_unnamed_right()) {
      return refusal->what() + std::string("; to see which: ") +
             rlock_for_one("doctor", globals, refusal->server());
    }
    return refusal->message_with(advice(*refusal, globals));
  }
  if (const auto* refusal = dynamic_cast<const redis::TlsRefused*>(&error)) {
    return refusal->what() + std::string(advice(refusal->cause()));
  }
  return error.what();
}

}  // namespace

std::string describe_error(const Error& error, const Globals& globals,
                           const std::vector<std::string>& locks) {
  std::string text = message_of(error, globals);
  const auto is_named = [&](const std::string& lock) {
    return text.starts_with(escape_for_terminal(lock) + ": ");
  };
  if (locks.empty() || !is_of_server(error) || std::ranges::any_of(locks, is_named)) return text;
  return first_of(escape_for_terminal(locks.front()), locks.size()) + ": " + text;
}

std::vector<std::string> unreachable_server_changes(const Globals& globals) {
  using Which = lock::UnreachableServers::Which;
  if (globals.quiet) return {};
  return globals.unreachable->changes(globals.verbose ? Which::all : Which::lasting);
}

}  // namespace rlock::cli
