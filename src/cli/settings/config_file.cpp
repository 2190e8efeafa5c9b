#include "cli/settings/config_file.hpp"

#include <algorithm>
#include <array>
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

std::string user_file() {
  const auto directory = from_environment("XDG_CONFIG_HOME");
  if (directory && directory->starts_with('/')) return *directory + "/rlock.toml";
  const auto home = from_environment("HOME");
  return home ? *home + "/.config/rlock.toml" : "";
}

// Returns what is wrong with a setting, or nothing.
std::string complaint(const TomlEntry& entry) {
  std::array<std::string_view, k_known_settings.size()> known;
  std::ranges::transform(k_known_settings, known.begin(), &KnownSetting::name);
  if (std::ranges::find(known, entry.key) == known.end()) {
    const std::string what = "unknown setting '" + quote_input(entry.key) + "'; ";
    if (const auto meant = nearest_word(entry.key, known)) {
      return what + "did you mean '" + std::string(*meant) + "'?";
    }
    return what + "there are " + join({known.begin(), known.end()}, ", ");
  }
  using Type = TomlEntry::Type;
  const bool is_time = entry.key == "timeout" || entry.key == "wait-server";
  if (entry.type == Type::text || (entry.type == Type::number && is_time) ||
      (entry.type == Type::list && entry.key == "redis")) {
    return "";
  }
  const std::string found = entry.type == Type::number ? "a number"
                            : entry.type == Type::list ? "a list"
                                                       : entry.values.front();
  const std::string other = entry.key == "redis" ? ", or a list of such texts"
                            : is_time            ? ", or a number of seconds"
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

// Returns whether there is such a file.
bool read_into(Config& config, const std::string& path) {
  const auto file = read_text_file(path, Extent::all);
  if (!file) return false;
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
    if (entry.key == "redis") {
      if (has_password(value)) refuse_if_exposed(*file);
      refuse_if_shared(*file);
    }
    config.settings[entry.key] = {entry.key, value, Setting::From::file, path, entry.line};
  }
  config.read.push_back(path);
  return true;
}

}  // namespace

Config read_config(const std::optional<std::string>& file) {
  Config config;
  if (file) {
    if (!read_into(config, *file)) refuse_file(*file, "there is no such file");
    config.named = absolute_path(*file);
    return config;
  }
  for (const std::string& path : {std::string("/etc/rlock.toml"), user_file()}) {
    if (!path.empty() && !read_into(config, path)) config.missing.push_back(path);
  }
  return config;
}

}  // namespace rlock::cli
