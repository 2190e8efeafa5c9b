#include "cli/settings/setting.hpp"

#include "base/escape.hpp"

namespace rlock::cli {

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

}  // namespace rlock::cli
