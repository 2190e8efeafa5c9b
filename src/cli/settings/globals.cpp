#include "cli/settings/globals.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <unistd.h>

#include "base/duration.hpp"
#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/words.hpp"
#include "cli/parsing/option_set.hpp"
#include "cli/settings/settings.hpp"
#include "cli/settings/text_file.hpp"
#include "cli/terminal/message.hpp"
#include "redis/likeness.hpp"

namespace rlock::cli {
namespace {

// What an error about the default server ends with.
constexpr const char* k_set_another =
    " (set another server with -r, RLOCK_REDIS or a configuration file; see man rlock)";
constexpr const char* k_no_server =
    " (no server is configured, so this is the default address: set another with -r, RLOCK_REDIS "
    "or a configuration file; see man rlock)";

constexpr std::array<const char*, 3> k_colors = {"auto", "always", "never"};

// What a complaint about a file starts with: the variable, or the line of a configuration file,
// that names it.
std::string naming(const Setting& setting) {
  const bool is_hidden =
      setting.from == Setting::From::file || setting.from == Setting::From::environment;
  return is_hidden ? setting.label() + ": " : "";
}

std::string read_password(const std::string& path) {
  const auto file = read_text_file(path, Extent::first_line);
  if (!file) refuse_file(path, "there is no such file");
  refuse_if_exposed(*file);
  std::string password = file->text.substr(0, file->text.find('\n'));
  if (password.ends_with('\r')) password.pop_back();
  if (password.empty()) refuse_file(path, "has no password in its first line");
  return password;
}

redis::Credentials find_credentials(const Settings& settings) {
  const Setting& file = settings.get("password-file");
  if (file.from == Setting::From::flag && file.value.empty()) {
    throw Error(ExitStatus::config, file.label() + ": no file is named");
  }
  try {
    return {settings.get("user").value,
            file.value.empty() ? settings.password().value : read_password(file.value)};
  } catch (const Error& error) {
    throw Error(error.status(), naming(file) + error.what());
  }
}

// Throws Error (usage) if the servers cannot form a quorum. Each must be a single server that
// shares nothing with the others.
void check_independence(const std::vector<redis::Endpoint>& servers) {
  if (servers.size() < 2) return;
  for (auto at = servers.begin(); at != servers.end(); ++at) {
    const redis::Endpoint& server = *at;
    using enum redis::Endpoint::Transport;
    const std::string url = server.display();
    if (server.transport == sentinel || server.transport == cluster || server.transport == local) {
      throw Error(ExitStatus::usage, url +
                                         " cannot be one of several servers that keep a lock "
                                         "together; expected redis://, rediss:// or unix:");
    }
    const auto twin = std::find_if(servers.begin(), at, [&](const redis::Endpoint& other) {
      return redis::compare(server, other) == redis::Likeness::same;
    });
    if (twin != at) {
      throw Error(ExitStatus::usage,
                  url + " is the same server as " + twin->display() + ": it would have two votes");
    }
  }
}

// Throws Error (config) if a configuration file names a file that cannot be read. When the file is
// used later, rlock does not know any more which configuration file named it.
void check_named_file(const Setting& setting) {
  if (setting.from != Setting::From::file || setting.value.empty()) return;
  if (::access(setting.value.c_str(), R_OK) == 0) return;
  throw Error(ExitStatus::config,
              naming(setting) + quote_input(setting.value) + ": " + errno_text(errno));
}

redis::TlsFiles find_tls_files(const Settings& settings) {
  for (const char* name : {"tls-ca", "tls-cert", "tls-key"}) check_named_file(settings.get(name));
  const std::string certificate = settings.get("tls-cert").value;
  const std::string key = settings.get("tls-key").value;
  if (certificate.empty() != key.empty()) {
    throw Error(ExitStatus::config,
                key.empty()
                    ? quote_input(certificate) + ": a certificate without its key (--tls-key)"
                    : quote_input(key) + ": a key without its certificate (--tls-cert)");
  }
  return {absolute_path(settings.get("tls-ca").value), absolute_path(certificate),
          absolute_path(key)};
}

// Throws Error that tells where the servers are named.
std::vector<redis::Endpoint> parse_servers(const std::vector<std::string>& urls,
                                           const Setting& setting) {
  std::vector<redis::Endpoint> servers;
  if (urls.empty()) throw Error(setting.blame(), setting.label() + ": no server is named");
  try {
    for (const std::string& url : urls) servers.push_back(redis::parse_url(url));
    check_independence(servers);
  } catch (const Error& error) {
    throw Error(setting.blame(), setting.label() + ": " + error.what());
  }
  return servers;
}

Milliseconds find_timeout(const Setting& setting) {
  const Milliseconds timeout =
      parse_duration_option(setting.label(), setting.value, setting.blame());
  if (timeout <= Milliseconds(0)) {
    throw Error(setting.blame(), setting.label() + ": must be longer than 0");
  }
  return timeout;
}

void check_color(const Setting& setting) {
  if (std::ranges::find(k_colors, setting.value) != k_colors.end()) return;
  throw Error(setting.blame(), setting.label() + ": '" + quote_input(setting.value) +
                                   "' is not one of auto, always and never");
}

}  // namespace

std::string client_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string name = "rlock:" + std::string(host.data()) + ":" + std::to_string(::getpid());
  std::ranges::replace_if(
      name, [](char c) { return c <= ' ' || c > '~'; }, '_');
  return name;
}

void Globals::add_to(OptionSet options) {
  const std::string heading_before = options.set_group("Global options");
  options.add_value("-r,--redis", &redis, "URL",
                    "URL of the server. Give it again for each of several servers "
                    "[env RLOCK_REDIS; redis://127.0.0.1:6379]");
  options.add_value("--timeout", &timeout, "DUR",
                    "Time limit for connecting and one request together [env RLOCK_TIMEOUT; 3s]");
  options.add_value("--user", &user, "NAME", "User of the server [env RLOCK_USER]");
  options.add_value("--password-file", &password_file, "FILE",
                    "File with the password [env RLOCK_PASSWORD, REDISCLI_AUTH]");
  options.add_value("--tls-ca", &tls_ca, "FILE",
                    "Trusted authorities or certificates (PEM) for rediss:// [env RLOCK_TLS_CA; "
                    "the system's]");
  options.add_value("--tls-cert", &tls_cert, "FILE",
                    "Certificate chain of the client (PEM) [env RLOCK_TLS_CERT]");
  options.add_value("--tls-key", &tls_key, "FILE",
                    "Private key of the client (PEM, not encrypted) [env RLOCK_TLS_KEY]");
  options.add_value("--config", &config, "FILE",
                    "Read settings from this file only [env RLOCK_CONFIG; /etc/rlock.toml and the "
                    "user's file]");
  options.add_flag("--json", json, "Print JSON, one value a line");
  options.add_flag("-q,--quiet", quiet, "Say less on stderr");
  options.add_flag("-v,--verbose", verbose, "Say more on stderr");
  options.add_value("--color", &color, "WHEN", "When to print in colour [env NO_COLOR; auto]",
                    {k_colors.begin(), k_colors.end()});
  options.set_group(heading_before);
}

const Settings& Globals::settings() const {
  if (!known->settings) known->settings = std::make_shared<const Settings>(*this);
  return *known->settings;
}

lock::SessionOptions Globals::session_options() const {
  const Settings& settings = this->settings();
  lock::SessionOptions options;
  const Setting& named = settings.get("redis");
  options.servers = parse_servers(redis.empty() ? words(named.value) : redis, named);
  const redis::Credentials others = find_credentials(settings);
  for (redis::Endpoint& endpoint : options.servers) {
    if (verbose && endpoint.transport == redis::Endpoint::Transport::local) {
      say("local: locks out this machine's processes only");
    }
    if (endpoint.transport == redis::Endpoint::Transport::tls) {
      endpoint.tls_files = find_tls_files(settings);
    }
    if (named.from == Setting::From::fallback) {
      endpoint.from = quiet ? k_no_server : k_set_another;
      if (!quiet && known->servers.empty())
        say("no server is configured: using " + endpoint.display());
    }
    redis::Credentials& own = endpoint.credentials;
    if (own.user.empty()) own.user = others.user;
    if (own.password.empty()) own.password = others.password;
  }
  redis::ClientOptions& client = options.client;
  client.endpoint = options.servers.front();
  client.timeout = find_timeout(settings.get("timeout"));
  client.timeout_from = " (--timeout)";
  check_color(settings.get("color"));
  client.name = client_name();
  options.unreachable = unreachable;
  known->servers = options.servers;
  return options;
}

Milliseconds Globals::server_wait(const std::optional<std::string>& flag) const {
  if (flag) return parse_duration_option("--wait-server", *flag);
  const Setting& setting = settings().get("wait-server");
  return parse_duration_option(setting.label(), setting.value, setting.blame());
}

std::vector<redis::ClientOptions> Globals::clients_options() const {
  const lock::SessionOptions options = session_options();
  std::vector<redis::ClientOptions> clients;
  for (const redis::Endpoint& server : options.servers) {
    redis::ClientOptions& client = clients.emplace_back(options.client);
    client.endpoint = server;
    client.reply_limit = redis::k_large_reply;
  }
  return clients;
}

redis::ClientOptions Globals::client_options(const std::string& command) const {
  const auto clients = clients_options();
  if (clients.size() > 1) {
    throw Error(ExitStatus::usage, command + ": looks at one server; use -r to choose one of the " +
                                       std::to_string(clients.size()) + " (" +
                                       settings().get("redis").label() + ")");
  }
  return clients.front();
}

Milliseconds parse_duration_option(const std::string& option, const std::string& text,
                                   ExitStatus blame) {
  const auto duration = parse_duration(text);
  if (!duration) {
    throw Error(blame, option + ": '" + quote_input(text) + "' is not a duration; expected " +
                           std::string(k_duration_syntax));
  }
  return *duration;
}

}  // namespace rlock::cli
