// Any text as a server's URL.

#include "base/error.hpp"
#include "fuzz/require.hpp"
#include "redis/url.hpp"

using namespace rlock;
using namespace rlock::fuzz;
using redis::Endpoint;

namespace {

void check_endpoint(const Endpoint& endpoint) {
  const bool tcp = endpoint.transport == Endpoint::Transport::tcp;
  require(!tcp || (!endpoint.host.empty() && endpoint.port != 0), "a TCP server has an address");
  for (const std::string& text :
       {endpoint.host, endpoint.path, endpoint.credentials.user, endpoint.credentials.password}) {
    require(text.find('\0') == std::string::npos, "no NUL reaches a system call");
  }

  const std::string shown = endpoint.display();
  require(is_plain(shown), "display() is harmless for a terminal");
  Endpoint other = endpoint;
  other.credentials = {"somebody", "something"};
  require(other.display() == shown, "display() does not depend on user and password");
  const Endpoint again = redis::parse_url(shown);
  require(again.transport == endpoint.transport && again.host == endpoint.host &&
              again.port == endpoint.port && again.path == endpoint.path &&
              again.database == endpoint.database,
          "display() is a URL of the same server");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check_endpoint(redis::parse_url(as_text(data, size)));
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(error.status() == ExitStatus::usage, "a bad URL is a matter of usage");
    require(is_plain(message), "a message is harmless for a terminal");
    require(message.find("SECRET") == std::string_view::npos, "a message repeats no password");
  }
  return 0;
}
