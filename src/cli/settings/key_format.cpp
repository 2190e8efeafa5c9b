#include "cli/settings/key_format.hpp"

#include <string_view>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "cli/parsing/option_set.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {

void KeyFormat::add_to(OptionSet command) {
  command.add_value("--key-format", &format_, "FORMAT",
                    "Name of the key, with {} for NAME, such as redlock:{}");
}

std::string KeyFormat::key_of(const std::string& name) const {
  if (!format_) {
    lock::check_name(name);
    return name;
  }
  constexpr std::string_view k_place = "{}";
  const std::size_t place = format_->find(k_place);
  if (place == std::string::npos || format_->find(k_place, place + 1) != std::string::npos) {
    throw Error(ExitStatus::usage, "--key-format: '" + repeated(*format_) +
                                       "' is not a format; expected one {} for the name");
  }
  lock::check_length(name);
  std::string key = *format_;
  key.replace(place, k_place.size(), name);
  lock::check_name(key);
  return key;
}

std::vector<std::string> KeyFormat::keys_of(std::vector<std::string> names) const {
  for (std::string& name : names) name = key_of(name);
  return names;
}

}  // namespace rlock::cli
