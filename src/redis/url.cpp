#include "redis/url.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <strings.h>

#include "base/error.hpp"
#include "base/integer.hpp"
#include "base/percent.hpp"
#include "base/words.hpp"

namespace rlock::redis {
namespace {

constexpr std::string_view k_syntax =
    "redis://[user[:password]@]host[:port][/db], rediss://... (TLS), unix:///path.sock[?db=N], "
    "local:[/dir], redis-sentinel://[user[:password]@]host[:port][,...][/db]#master or "
    "redis-cluster://[user[:password]@]host[:port][,...]";
constexpr std::uint16_t k_port = 6379;
constexpr std::uint16_t k_sentinel_port = 26379;

[[noreturn]] void fail(const std::string& why) {
  throw Error(ExitStatus::usage, "bad server URL: " + why + "; expected " + std::string(k_syntax));
}

// Returns the decoded text. A NUL would cut it short in system calls.
std::string decoded(std::string_view text, const char* what) {
  const auto result = percent_decode(text);
  if (!result) fail(std::string("bad %-encoding in the ") + what);
  if (result->find('\0') != std::string::npos) fail(std::string("NUL in the ") + what);
  return *result;
}

// Removes `prefix` from `text` if it is there; schemes are not case-sensitive.
bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.size() < prefix.size()) return false;
  if (::strncasecmp(text.data(), prefix.data(), prefix.size()) != 0) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<int> parse_number(std::string_view text, unsigned most) {
  const auto value = parse_integer<unsigned>(text);
  if (!value || *value > most) return std::nullopt;
  return static_cast<int>(*value);
}

int parse_database(std::string_view text) {
  const auto number = parse_number(text, 1'000'000);
  if (!number) fail("the database must be a number from 0");
  return *number;
}

Credentials parse_credentials(std::string_view text) {
  const std::size_t colon = text.find(':');
  Credentials credentials;
  credentials.user = decoded(text.substr(0, colon), "user");
  if (colon != std::string_view::npos) {
    credentials.password = decoded(text.substr(colon + 1), "password");
  }
  return credentials;
}

HostAndPort parse_host_and_port(std::string_view text, std::uint16_t default_port) {
  HostAndPort result{"", default_port};
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) fail("'[' without ']' around the IPv6 address");
    result.host = decoded(text.substr(1, end - 1), "host");
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) fail("only ':port' may follow ']'");
  } else {
    const std::size_t colon = text.find(':');
    result.host = decoded(text.substr(0, colon), "host");
    if (colon != std::string_view::npos) port = text.substr(colon);
    if (port.find(':', 1) != std::string_view::npos) fail("an IPv6 address needs brackets: [::1]");
  }
  if (result.host.empty()) fail("no host");
  if (port.empty()) return result;
  const auto number = parse_number(port.substr(1), 65535);
  if (!number || *number == 0) fail("the port must be a number from 1 to 65535");
  result.port = static_cast<std::uint16_t>(*number);
  return result;
}

// Takes "user:password@" away from the start of `authority`.
Credentials take_credentials(std::string_view& authority) {
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return {};
  Credentials credentials = parse_credentials(authority.substr(0, at));
  authority.remove_prefix(at + 1);
  return credentials;
}

// Reads [user[:password]@]HOSTS[/db] into `endpoint`, except for the hosts, which it returns.
std::string_view read_around_hosts(std::string_view text, Endpoint& endpoint) {
  const std::size_t slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  const std::string_view path = slash == std::string_view::npos ? "" : text.substr(slash + 1);
  if (path.find('@') != std::string_view::npos) fail("in a password, write / as %2F");
  if (!path.empty()) endpoint.database = parse_database(path);
  endpoint.credentials = take_credentials(authority);
  return authority;
}

Endpoint parse_tcp(std::string_view rest, Endpoint::Transport transport) {
  Endpoint endpoint{.transport = transport};
  if (rest.find_first_of("?#") != std::string_view::npos) {
    fail("'?' and '#' have no meaning here (in a password, write %3F and %23)");
  }
  const std::string_view host = read_around_hosts(rest, endpoint);
  if (host.find(',') != std::string_view::npos) {
    fail("only redis-sentinel and redis-cluster take several hosts; Redlock takes a URL for each");
  }
  const HostAndPort server = parse_host_and_port(host, k_port);
  endpoint.host = server.host;
  endpoint.port = server.port;
  return endpoint;
}

std::vector<HostAndPort> parse_seeds(std::string_view text, std::uint16_t default_port) {
  std::vector<HostAndPort> seeds;
  for (const std::string_view part : split(text, ',')) {
    const HostAndPort seed = parse_host_and_port(part, default_port);
    if (std::ranges::find(seeds, seed) != seeds.end()) fail("a host is named twice");
    seeds.push_back(seed);
  }
  if (text.empty() || text.ends_with(',')) fail("no host");
  return seeds;
}

Endpoint parse_sentinel(std::string_view rest) {
  Endpoint endpoint{.transport = Endpoint::Transport::sentinel};
  if (rest.find('?') != std::string_view::npos) {
    fail("'?' has no meaning here (in a password, write %3F)");
  }
  const std::size_t hash = rest.rfind('#');
  if (hash != std::string_view::npos) endpoint.master = decoded(rest.substr(hash + 1), "master");
  if (endpoint.master.empty()) fail("the master's name is missing: #master");
  endpoint.seeds = parse_seeds(read_around_hosts(rest.substr(0, hash), endpoint), k_sentinel_port);
  return endpoint;
}

Endpoint parse_cluster(std::string_view rest) {
  Endpoint endpoint{.transport = Endpoint::Transport::cluster};
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#") != std::string_view::npos) {
    fail(
        "nothing may follow the hosts of a cluster (in a password, write / as %2F, ? as %3F and # "
        "as %23)");
  }
  endpoint.credentials = take_credentials(rest);
  endpoint.seeds = parse_seeds(rest, k_port);
  return endpoint;
}

Endpoint parse_unix(std::string_view rest) {
  Endpoint endpoint{.transport = Endpoint::Transport::unix_socket};
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) {
    std::string_view query = rest.substr(question + 1);
    if (!take_prefix(query, "db=")) fail("only '?db=N' may follow the socket's path");
    endpoint.database = parse_database(query);
  }
  std::string_view path = rest.substr(0, question);
  if (path.starts_with("//")) path.remove_prefix(2);
  endpoint.path = decoded(path, "path");
  if (!endpoint.path.starts_with('/')) fail("the path of the socket must start with '/'");
  return endpoint;
}

Endpoint parse_local(std::string_view rest) {
  Endpoint endpoint{.transport = Endpoint::Transport::local};
  if (rest.starts_with("//")) rest.remove_prefix(2);
  endpoint.path = decoded(rest, "path");
  if (!endpoint.path.empty() && !endpoint.path.starts_with('/')) {
    fail("the directory must start with '/'");
  }
  return endpoint;
}

// Returns whether the text has only letters, digits and `others`.
bool has_only(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || others.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// Returns whether the text is HOST:PORT, or a HOST that looks like one.
bool is_host(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  if (host.empty() || !has_only(host, ".-")) return false;
  if (colon == std::string_view::npos) {
    return host == "localhost" || host.find('.') != std::string_view::npos;
  }
  const std::string_view port = text.substr(colon + 1);
  return port.size() <= 5 && parse_integer<unsigned>(port);
}

// Guesses what a user meant whose text is not the URL of a server, such as "put redis:// in front
// of it". The hint does not contain the text, because it may be a password.
std::optional<std::string> url_hint(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space != std::string_view::npos && text.find("://", space) != std::string_view::npos) {
    return "it has a space in it: give each server separately";
  }
  const bool is_path = text.starts_with('/') && !text.starts_with("//") && has_only(text, "/._-");
  if (!is_path && !is_host(text)) return std::nullopt;
  return std::string("put ") + (is_path ? "unix://" : "redis://") + " in front of it";
}

std::string encode_path(std::string_view path) { return percent_encode(path, "-._~:/"); }

}  // namespace

std::string HostAndPort::display() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  const std::string name = percent_encode(host);
  return (ipv6 ? "[" + name + "]" : name) + ":" + std::to_string(port);
}

std::string Endpoint::display() const {
  const std::string db = std::to_string(database);
  const std::string slash_db = database == 0 ? "" : "/" + db;
  std::string nodes;
  for (const HostAndPort& seed : seeds) nodes += (nodes.empty() ? "" : ",") + seed.display();
  switch (transport) {
    case Transport::unix_socket:
      return "unix://" + encode_path(path) + (database == 0 ? "" : "?db=" + db);
    case Transport::local:
      // parse_local takes two slashes away.
      return (path.starts_with("//") ? "local://" : "local:") + encode_path(path);
    case Transport::sentinel:
      return "redis-sentinel://" + nodes + slash_db + "#" + percent_encode(master);
    case Transport::cluster:
      return "redis-cluster://" + nodes;
    case Transport::tls:
    case Transport::tcp:
      break;
  }
  const char* const scheme = transport == Transport::tls ? "rediss://" : "redis://";
  return scheme + HostAndPort{host, port}.display() + slash_db;
}

Endpoint Endpoint::of(const HostAndPort& node) const {
  return {.host = node.host, .port = node.port, .database = database, .credentials = credentials};
}

Endpoint parse_url(std::string_view url) {
  if (const auto hint = url_hint(url)) throw Error(ExitStatus::usage, "bad server URL: " + *hint);
  std::string_view rest = url;
  if (take_prefix(rest, "redis://")) return parse_tcp(rest, Endpoint::Transport::tcp);
  if (take_prefix(rest, "unix:")) return parse_unix(rest);
  if (take_prefix(rest, "local:")) return parse_local(rest);
  if (take_prefix(rest, "rediss://")) return parse_tcp(rest, Endpoint::Transport::tls);
  if (take_prefix(rest, "redis-sentinel://")) return parse_sentinel(rest);
  if (take_prefix(rest, "redis-cluster://")) return parse_cluster(rest);
  fail("no known scheme");
}

}  // namespace rlock::redis
