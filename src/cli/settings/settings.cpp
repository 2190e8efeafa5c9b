#include "cli/settings/settings.hpp"

#include <algorithm>
#include <optional>

#include "base/environment.hpp"
#include "base/words.hpp"
#include "cli/settings/globals.hpp"

namespace rlock::cli {
namespace {

using From = Setting::From;

std::optional<std::string> given(const Globals& globals, const KnownSetting& option) {
  if (option.flag != nullptr) return globals.*option.flag;
  if (option.name != "redis" || globals.redis.empty()) return std::nullopt;
  return join(globals.redis, " ");
}

}  // namespace

Settings::Settings(const Globals& globals)
    : files_(read_config(globals.config ? globals.config : from_environment("RLOCK_CONFIG"))) {
  for (const char* variable : {"REDISCLI_AUTH", "RLOCK_PASSWORD"}) {
    if (const auto value = from_environment(variable)) {
      password_ = {"password", *value, From::environment, variable};
    }
  }
  // --password-file on the command line overrides the password in the environment, which overrides
  // a password-file in a configuration file.
  if (globals.password_file) password_ = {};
  if (!password_.value.empty()) files_.settings.erase("password-file");
  for (const KnownSetting& option : k_known_settings) {
    const std::string name(option.name);
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
}

const Setting& Settings::get(const std::string& name) const {
  return *std::ranges::find(all_, name, &Setting::name);
}

}  // namespace rlock::cli
