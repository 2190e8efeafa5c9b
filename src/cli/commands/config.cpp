// rlock config: shows the settings that count, and where each comes from. Asks no server.

#include "base/escape.hpp"
#include "base/percent.hpp"
#include "base/words.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/settings/settings.hpp"

namespace rlock::cli {
namespace {

// Returns a URL in which *** replaces the password.
std::string shown_url(const std::string& url) {
  const redis::Endpoint endpoint = redis::parse_url(url);
  const redis::Credentials& own = endpoint.credentials;
  std::string text = endpoint.display();
  if (own.user.empty() && own.password.empty()) return text;
  const std::string who = percent_encode(own.user) + (own.password.empty() ? "" : ":***") + "@";
  return text.insert(text.find("://") + 3, who);
}

// Returns a text as TOML has it, harmless for a terminal. Bytes that are no text have no place
// there.
std::string to_toml(const std::string& text) {
  const std::string safe = escape_for_terminal(text);
  if (safe == text && text.find_first_of("\"\\") == std::string::npos) return '"' + text + '"';
  if (safe == text && text.find('\'') == std::string::npos) return '\'' + text + '\'';
  return escape_as_codes('"' + with_backslashes(text, "\"\\") + '"');
}

std::string to_toml_list(std::vector<std::string> texts) {
  for (std::string& text : texts) text = to_toml(text);
  return texts.size() == 1 ? texts.front() : "[" + join(texts, ", ") + "]";
}

// Returns a line of a configuration file: a comment if the setting has no value, or no place there.
// With `json`, returns a line of JSON.
std::string describe(const Setting& setting, bool json) {
  if (json) {
    return to_line({{"name", setting.name},
                    {"value", text_or_null(setting.value)},
                    {"source", to_utf8(setting.source)}});
  }
  if (setting.value.empty() && setting.from == Setting::From::fallback) {
    return "# " + setting.name + ": none\n";
  }
  const std::string source = "  # " + escape_for_terminal(setting.source) + "\n";
  if (setting.name == "password") return "# password = \"***\"" + source;
  return setting.name + " = " +
         (setting.name == "redis" ? to_toml_list(words(setting.value)) : to_toml(setting.value)) +
         source;
}

std::vector<Setting> shown_settings(const Globals& globals, const Settings& settings) {
  std::vector<Setting> shown;
  for (Setting setting : settings.all()) {
    if (setting.name == "redis") {
      auto urls = globals.redis.empty() ? words(setting.value) : globals.redis;
      for (std::string& url : urls) url = shown_url(url);
      setting.value = join(urls, " ");
    }
    if (setting.name == "password-file" && !settings.password().value.empty()) {
      setting = settings.password();
      setting.value = "***";
    }
    shown.push_back(setting);
  }
  return shown;
}

int run_config(const Globals& globals) {
  const Settings& settings = globals.settings();
  Globals checked = globals;
  checked.quiet = true;
  (void)checked.session_options();  // says what is wrong with them
  (void)checked.server_wait();
  std::string text;
  if (!globals.json) {
    for (const std::string& file : settings.files().read) {
      text += "# read: " + escape_for_terminal(file) + "\n";
    }
    for (const std::string& file : settings.files().missing) {
      text += "# not there: " + escape_for_terminal(file) + "\n";
    }
  }
  for (const Setting& setting : shown_settings(globals, settings)) {
    text += describe(setting, globals.json);
  }
  print(text);
  return 0;
}

}  // namespace

Action set_up_config(OptionSet command, const Invocation& invocation) {
  command.set_usage("rlock config [OPTIONS]");
  return [&invocation] { return run_config(invocation.globals); };
}

}  // namespace rlock::cli
