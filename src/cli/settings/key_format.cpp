#include "cli/settings/key_format.hpp"

#include <string_view>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

constexpr std::string_view k_place = "{}";

}  // namespace

void KeyFormat::add_to(CLI::App& app) {
  const auto take = [this](const std::string& format) {
    const std::size_t place = format.find(k_place);
    if (place == std::string::npos || format.find(k_place, place + 1) != std::string::npos) {
      throw Error(ExitStatus::usage, "--key-format: '" + repeated(format) +
                                         "' is not a format; expected one {} for the name");
    }
    format_ = format;
  };
  app.add_option_function<std::string>("--key-format", take,
                                       "Name of the key, with {} for NAME, such as 'redlock:{}'")
      ->type_name("FORMAT");
}

std::string KeyFormat::key_of(const std::string& name) const {
  if (!is_given()) {
    lock::check_name(name);
    return name;
  }
  lock::check_length(name);
  std::string key = format_;
  key.replace(key.find(k_place), k_place.size(), name);
  lock::check_name(key);
  return key;
}

std::vector<std::string> KeyFormat::keys_of(std::vector<std::string> names) const {
  for (std::string& name : names) name = key_of(name);
  return names;
}

}  // namespace rlock::cli
