#include "cli/settings/settings.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <sys/stat.h>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/words.hpp"
#include "cli/settings/globals.hpp"
#include "cli/settings/text_file.hpp"
#include "cli/settings/toml.hpp"
#include "redis/url.hpp"

namespace rlock::cli {
namespace {

using From = Setting::From;

struct Option {
  const char* name;
  const char* variable;
  std::optional<std::string> Globals::*flag;
  const char* fallback;
};

constexpr std::array k_options = {
    Option{"redis", "RLOCK_REDIS", nullptr, "redis://127.0.0.1:6379"},
    Option{"timeout", "RLOCK_TIMEOUT", &Globals::timeout, "3s"},
    Option{"user", "RLOCK_USER", &Globals::user, ""},
    Option{"password-file", nullptr, &Globals::password_file, ""},
    Option{"tls-ca", "RLOCK_TLS_CA", &Globals::tls_ca, ""},
    Option{"tls-cert", "RLOCK_TLS_CERT", &Globals::tls_cert, ""},
    Option{"tls-key", "RLOCK_TLS_KEY", &Globals::tls_key, ""},
    Option{"color", nullptr, &Globals::color, "auto"},
};

std::optional<std::string> given(const Globals& globals, const Option& option) {
  if (option.flag != nullptr) return globals.*option.flag;
  if (globals.redis.empty()) return std::nullopt;
  return join(globals.redis, " ");
}

constexpr std::array<std::string_view, 8> k_keys = {"redis", "timeout", "user",     "password-file",
                                                    "color", "tls-ca",  "tls-cert", "tls-key"};

std::string user_file() {
  if (const auto directory = from_environment("XDG_CONFIG_HOME")) return *directory + "/rlock.toml";
  const auto home = from_environment("HOME");
  return home ? *home + "/.config/rlock.toml" : "";
}

// Returns what is wrong with a setting, or nothing.
std::string complaint(const TomlEntry& entry) {
  if (std::ranges::find(k_keys, entry.key) == k_keys.end()) {
    const std::string what = "unknown setting '" + repeated(entry.key) + "'; ";
    if (const auto meant = nearest_word(entry.key, k_keys)) {
      return what + "is '" + std::string(*meant) + "' meant?";
    }
    return what + "there are " + join({k_keys.begin(), k_keys.end()}, ", ");
  }
  using Type = TomlEntry::Type;
  if (entry.type == Type::text || (entry.type == Type::number && entry.key == "timeout") ||
      (entry.type == Type::list && entry.key == "redis")) {
    return "";
  }
  const std::string found = entry.type == Type::number ? "a number"
                            : entry.type == Type::list ? "a list"
                                                       : entry.values.front();
  const std::string other = entry.key == "redis"     ? ", or a list of such texts"
                            : entry.key == "timeout" ? ", or a number of seconds"
                                                     : "";
  return entry.key + ": expected text in quotes" + other + ", not " + found;
}

// A URL that makes no sense may still have a password in it.
bool has_password(const std::string& servers) {
  const std::vector<std::string> urls = words(servers);
  return std::ranges::any_of(urls, [](const std::string& url) {
    try {
      return !redis::parse_url(url).credentials.password.empty();
    } catch (const Error&) {
      return url.find('@') != std::string::npos;
    }
  });
}

enum class Missing { fine, error };

void read_into(Config& config, const std::string& path, Missing missing) {
  const auto file = read_text_file(path, Extent::all);
  if (!file) {
    if (missing == Missing::error) refuse_file(path, "there is no such file");
    config.missing.push_back(path);
    return;
  }
  // Nobody writes to this pipe; taken for no settings, another server than meant would be asked.
  if (S_ISFIFO(file->mode) && file->text.empty()) refuse_file(path, "nothing came out of the pipe");
  std::vector<TomlEntry> entries;
  try {
    entries = parse_toml(file->text);
  } catch (const Error& error) {
    refuse_file(path, error.what());
  }
  for (const TomlEntry& entry : entries) {
    const std::string wrong = complaint(entry);
    if (!wrong.empty()) refuse_file(path, "line " + std::to_string(entry.line) + ": " + wrong);
    const std::string value = join(entry.values, " ");
    if (entry.key == "redis" && has_password(value)) refuse_if_exposed(*file);
    config.settings[entry.key] = {entry.key, value, Setting::From::file, path, entry.line};
  }
  config.read.push_back(path);
}

}  // namespace

std::string Setting::label() const {
  switch (from) {
    case From::flag:
      return "--" + name;
    case From::environment:
      return source;
    case From::file:
      return repeated(source) + ": line " + std::to_string(line) + ": " + name;
    case From::fallback:
      break;
  }
  return repeated(source) + ": " + name;
}

ExitStatus Setting::blame() const noexcept {
  return from == From::file ? ExitStatus::config : ExitStatus::usage;
}

Config read_config(const std::optional<std::string>& file) {
  Config config;
  if (file) {
    read_into(config, *file, Missing::error);
    config.named = absolute_path(*file);
    return config;
  }
  read_into(config, "/etc/rlock.toml", Missing::fine);
  const std::string own = user_file();
  if (!own.empty()) read_into(config, own, Missing::fine);
  return config;
}

Settings::Settings(const Globals& globals)
    : files_(read_config(globals.config ? globals.config : from_environment("RLOCK_CONFIG"))) {
  for (const char* variable : {"REDISCLI_AUTH", "RLOCK_PASSWORD"}) {
    if (const auto value = from_environment(variable)) {
      password_ = {"password", *value, From::environment, variable};
    }
  }
  for (const Option& option : k_options) {
    const std::string name = option.name;
    const auto in_file = files_.settings.find(name);
    Setting& setting = all_.emplace_back();
    if (const auto flag = given(globals, option)) {
      setting = {name, *flag, From::flag, "flag"};
    } else if (const auto value =
                   option.variable == nullptr ? std::nullopt : from_environment(option.variable)) {
      setting = {name, *value, From::environment, option.variable};
    } else if (name == "color" && from_environment("NO_COLOR")) {
      setting = {name, "never", From::environment, "NO_COLOR"};
    } else if (in_file != files_.settings.end()) {
      setting = in_file->second;
    } else {
      setting = {name, option.fallback, From::fallback, "default"};
    }
  }
  // --password-file on the command line overrides the password in the environment, which overrides
  // a password-file in a configuration file.
  if (get("password-file").from == From::flag) {
    password_ = {};
  } else if (!password_.value.empty()) {
    const auto file = std::ranges::find(all_, "password-file", &Setting::name);
    *file = {"password-file", "", From::fallback, "default"};
  }
}

const Setting& Settings::get(const std::string& name) const {
  return *std::ranges::find(all_, name, &Setting::name);
}

}  // namespace rlock::cli
