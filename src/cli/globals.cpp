#include "cli/globals.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/duration.hpp"
#include "base/error.hpp"
#include "base/escape.hpp"
#include "cli/config_file.hpp"
#include "cli/message.hpp"

namespace rlock::cli {
namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

std::string read_password(const std::string& file) {
  std::ifstream input(file);
  std::string password;
  if (!std::getline(input, password)) {
    throw Error(ExitStatus::config,
                escape_for_terminal(file) + ": cannot read a password from the file's first line");
  }
  if (password.ends_with('\r')) password.pop_back();
  return password;
}

// The name in CLIENT LIST tells which host and process to look for. It must be printable ASCII.
std::string client_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string name = "rlock:" + std::string(host.data()) + ":" + std::to_string(::getpid());
  for (char& c : name) {
    if (c <= ' ' || c > '~') c = '_';
  }
  return name;
}

// Where a global option's value comes from.
class Sources {
 public:
  explicit Sources(const std::optional<std::string>& config_flag)
      : settings_(read_config(config_flag ? config_flag : environment("RLOCK_CONFIG"))) {}

  [[nodiscard]] std::optional<std::string> find(const std::optional<std::string>& flag,
                                                const char* variable, const char* key) const {
    if (flag) return flag;
    if (const auto value = environment(variable)) return value;
    const auto found = settings_.find(key);
    if (found == settings_.end()) return std::nullopt;
    return found->second;
  }

 private:
  Settings settings_;
};

redis::Credentials find_credentials(const Globals& globals, const Sources& sources) {
  redis::Credentials credentials;
  credentials.user = sources.find(globals.user, "RLOCK_USER", "user").value_or("");
  if (globals.password_file) {
    credentials.password = read_password(*globals.password_file);
  } else if (const auto own = environment("RLOCK_PASSWORD")) {
    credentials.password = *own;
  } else if (const auto shared = environment("REDISCLI_AUTH")) {
    credentials.password = *shared;
  } else if (const auto file = sources.find({}, "", "password-file")) {
    credentials.password = read_password(*file);
  }
  return credentials;
}

}  // namespace

void Globals::add_to(CLI::App& app) {
  const std::string group = "Global options";
  app.add_option("-r,--redis", redis, "Server [env RLOCK_REDIS; redis://127.0.0.1:6379]")
      ->type_name("URL")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--timeout", timeout,
                 "Bound on connecting and on each request [env RLOCK_TIMEOUT; 3s]")
      ->type_name("DUR")
      ->group(group);
  app.add_option("--user", user, "User name [env RLOCK_USER]")->group(group);
  app.add_option("--password-file", password_file,
                 "File with the password [env RLOCK_PASSWORD, REDISCLI_AUTH]")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--config", config, "Settings [env RLOCK_CONFIG; /etc/rlock.toml and the user's]")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--json", json, "Print JSON, one value a line")->group(group);
  app.add_flag("-q,--quiet", quiet, "Say less on stderr")->group(group);
  app.add_flag("-v,--verbose", verbose, "Say more on stderr")->group(group);
  app.add_option("--color", color, "auto, always or never [env NO_COLOR; auto]")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(group);
}

redis::ClientOptions Globals::client_options() const {
  const Sources sources(config);
  redis::ClientOptions options;
  const auto given = sources.find({}, "RLOCK_REDIS", "redis").value_or("redis://127.0.0.1:6379");
  const std::vector<std::string> urls = redis.empty() ? words(given) : redis;
  if (urls.size() != 1) {
    throw Error(ExitStatus::usage, "--redis: this version of rlock works with one server, not " +
                                       std::to_string(urls.size()));
  }
  options.endpoint = redis::parse_url(urls[0]);
  if (verbose && options.endpoint.transport == redis::Endpoint::Transport::local) {
    say("local: locks out this machine's processes only");
  }
  const redis::Credentials others = find_credentials(*this, sources);
  redis::Credentials& own = options.endpoint.credentials;
  if (own.user.empty()) own.user = others.user;
  if (own.password.empty()) own.password = others.password;
  if (const auto text = sources.find(timeout, "RLOCK_TIMEOUT", "timeout")) {
    options.timeout = parse_duration_option("--timeout", *text);
  }
  if (options.timeout <= Milliseconds(0)) {
    throw Error(ExitStatus::usage, "--timeout: must be longer than 0");
  }
  options.name = client_name();
  return options;
}

Milliseconds parse_duration_option(const std::string& option, const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration) {
    throw Error(ExitStatus::usage, option + ": '" + escape_for_terminal(text) +
                                       "' is no duration; expected " +
                                       std::string(k_duration_syntax));
  }
  return *duration;
}

}  // namespace rlock::cli
