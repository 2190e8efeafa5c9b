#include "cli/output/remedy.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/shell_quote.hpp"
#include "base/words.hpp"
#include "cli/settings/settings.hpp"
#include "cli/settings/text_file.hpp"
#include "redis/local_server.hpp"

namespace rlock::cli {
namespace {

using redis::Endpoint;
using Transport = Endpoint::Transport;

std::string option(const std::string& name, const std::string& value) {
  return value.empty() ? "" : name + " " + shell_quote(value) + " ";
}

// The shell where a command is pasted need not have the flags and the variables of this run.
bool is_of_this_run(const Setting& setting) {
  return setting.from == Setting::From::flag || setting.from == Setting::From::environment;
}

// Returns whether the server's URL, as the user wrote it, has a password in it.
bool has_password_in_url(const Globals& globals, const Endpoint& server) {
  const std::vector<std::string> urls =
      globals.redis.empty() ? words(globals.settings().get("redis").value) : globals.redis;
  return std::ranges::any_of(urls, [&](const std::string& url) {
    const Endpoint named = redis::parse_url(url);
    return named.display() == server.display() && !named.credentials.password.empty();
  });
}

std::string with_comment(const std::string& command, const std::string& comment) {
  return comment.empty() ? command : command + "  # " + comment;
}

// elsewhere: the command names the URL of another server, which is asked as these are.
enum class Url { of_servers, elsewhere };

// Returns what shows the command, unless one of its words cannot be passed on.
Hint pasteable(std::string command) {
  if (command.find('\0') == std::string::npos) return {Hint::Kind::command, std::move(command)};
  return {Hint::Kind::advice,
          "no shell can do it, because a NUL byte is in the name or the owner: use a Redis client "
          "from a program"};
}

// Returns the command "rlock WORDS" with the options that lead to `servers`. Its comment also tells
// what these options cannot have.
std::string rlock_for(const Globals& globals, const std::vector<Endpoint>& servers,
                      const std::string& words, std::string comment, Url url = Url::of_servers) {
  const Settings& settings = globals.settings();
  const auto has_password = [&](const Endpoint& server) {
    return has_password_in_url(globals, server);
  };
  const bool is_part = servers.size() < globals.known->servers.size();
  // RLOCK_REDIS there would take precedence over a configuration file. Only with a password in the
  // file's URL is it better to have the file name the server.
  const bool needs_url = url == Url::elsewhere || is_part ||
                         is_of_this_run(settings.get("redis")) ||
                         std::ranges::none_of(servers, has_password);
  // In another shell, the default files may be others.
  const std::string& named = settings.files().named;
  const bool is_default = named.empty() && !needs_url;
  std::string options =
      option("--config", is_default ? absolute_path(settings.get("redis").source) : named);
  if (needs_url && url == Url::of_servers) {
    for (const Endpoint& server : servers) options += option("-r", server.display());
  }
  if (needs_url || is_of_this_run(settings.get("user"))) {
    options += option("--user", servers.front().credentials.user);
  }
  const Setting& password = settings.get("password-file");
  if (password.from == Setting::From::flag) {
    options += option("--password-file", absolute_path(password.value));
  }
  const redis::TlsFiles& files = servers.front().tls_files;
  for (const auto& [name, file] : {std::pair("tls-ca", files.authorities),
                                   {"tls-cert", files.certificate},
                                   {"tls-key", files.key}}) {
    options += option(std::string("--") + name, file);
  }
  if (needs_url && std::ranges::any_of(servers, has_password)) {
    comment += std::string(comment.empty() ? "" : "; ") + "with RLOCK_PASSWORD set";
  }
  return with_comment("rlock " + options + words, comment);
}

std::string socket_of(const Endpoint& server) {
  return server.transport == Transport::local ? redis::local_socket(server.path) : server.path;
}

// Returns what comes before redis-cli so that it finds the password.
std::string redis_cli_password(const Globals& globals, const Endpoint& server) {
  const Settings& settings = globals.settings();
  if (server.credentials.password.empty()) {
    return server.credentials.user.empty() ? "" : "REDISCLI_AUTH= ";
  }
  const std::string& file = settings.get("password-file").value;
  if (!file.empty())
    return "REDISCLI_AUTH=\"$(head -n 1 " + shell_quote(absolute_path(file)) + ")\" ";
  const std::string& variable = settings.password().source;
  return variable == "REDISCLI_AUTH" ? "" : "REDISCLI_AUTH=\"$" + variable + "\" ";
}

std::string redis_cli_for(const Globals& globals, const Endpoint& server, const Endpoint& node) {
  std::string command = "redis-cli ";
  if (node.transport == Transport::cluster) {
    const redis::HostAndPort& seed = node.seeds.front();
    command += "-c -h " + shell_quote(seed.host) + " -p " + std::to_string(seed.port) + " ";
  } else if (node.transport == Transport::unix_socket || node.transport == Transport::local) {
    command += "-s " + shell_quote(socket_of(node)) + " ";
  } else {
    command += "-h " + shell_quote(node.host) + " -p " + std::to_string(node.port) + " ";
  }
  if (node.database != 0) command += "-n " + std::to_string(node.database) + " ";
  if (node.transport == Transport::tls) {
    command += "--tls " + option("--cacert", node.tls_files.authorities) +
               option("--cert", node.tls_files.certificate) + option("--key", node.tls_files.key);
  }
  command += option("--user", node.credentials.user);
  if (has_password_in_url(globals, server)) return command + "--askpass ";
  return redis_cli_password(globals, node) + command;
}

}  // namespace

Hint Remedies::rlock(const std::string& words, const std::string& comment) const {
  return pasteable(rlock_for(globals_, {server_}, words, comment));
}

Endpoint Remedies::at(const std::string& host, std::uint16_t port) const {
  Endpoint there = node_.options().endpoint;
  if (there.transport != Transport::tls) there.transport = Transport::tcp;
  there.host = host;
  there.port = port;
  return there;
}

Hint Remedies::rlock_at(const std::string& host, std::uint16_t port, const std::string& words,
                        const std::string& comment) const {
  return pasteable(rlock_for(globals_, {server_}, option("-r", at(host, port).display()) + words,
                             comment, Url::elsewhere));
}

Hint Remedies::redis_cli_at(const std::string& host, std::uint16_t port, const std::string& words,
                            const std::string& comment) const {
  return pasteable(with_comment(redis_cli_for(globals_, server_, at(host, port)) + words, comment));
}

Hint Remedies::rlock_in(int database, const std::string& words) const {
  Endpoint there = server_;
  there.database = database;
  return pasteable(
      rlock_for(globals_, {server_}, option("-r", there.display()) + words, "", Url::elsewhere));
}

Hint Remedies::redis_cli(const std::string& words, const std::string& comment) const {
  const Endpoint& asked = node_.options().endpoint;
  const Endpoint node =
      asked.transport == Transport::sentinel ? node_.find_masters().front() : asked;
  return pasteable(with_comment(redis_cli_for(globals_, server_, node) + words, comment));
}

Hint Remedies::as_administrator(const std::string& words, const std::string& comment) const {
  return redis_cli(words, "as an administrator" + (comment.empty() ? "" : ": " + comment));
}

std::string Remedies::user() const {
  const std::string& user = node_.options().endpoint.credentials.user;
  return user.empty() ? "default" : shell_quote(user);
}

std::string rlock_for_all(const std::string& words, const Globals& globals) {
  return pasteable(rlock_for(globals, globals.known->servers, words, "")).text;
}

std::string rlock_for_one(const std::string& words, const Globals& globals,
                          const std::string& server) {
  const std::vector<Endpoint>& all = globals.known->servers;
  const auto found = std::ranges::find(all, server, &Endpoint::display);
  const Endpoint& one = found == all.end() ? all.at(0) : *found;
  return pasteable(rlock_for(globals, {one}, words, "")).text;
}

}  // namespace rlock::cli
