#include "cli/remedy.hpp"

#include <string_view>

#include "base/shell_quote.hpp"

namespace rlock::cli {

std::string server_option(const Globals& globals, const redis::Endpoint& endpoint) {
  return globals.redis.empty() ? "" : "-r " + shell_quote(endpoint.display());
}

std::string name_server(const std::string& hint, const std::string& server) {
  constexpr std::string_view k_program = "rlock ";
  if (server.empty() || !hint.starts_with(k_program) || hint.starts_with("rlock -r ")) return hint;
  return std::string(k_program) + server + " " + hint.substr(k_program.size());
}

}  // namespace rlock::cli
