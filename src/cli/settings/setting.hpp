// The value of a global option, and where it comes from.
#pragma once

#include <cstddef>
#include <string>

#include "base/escape.hpp"
#include "base/exit_status.hpp"

namespace rlock::cli {

struct Setting {
  enum class From { fallback, file, environment, flag };

  std::string name;   // the option's long name without the dashes
  std::string value;  // empty: there is none. Spaces separate several servers
  From from = From::fallback;
  std::string source;    // "flag", the variable, the file or "default"
  std::size_t line = 0;  // of the file

  // Returns the first words of a message about a wrong value: where it was set.
  [[nodiscard]] std::string label() const {
    if (from == From::flag) return "--" + name;
    if (from == From::environment) return source;
    const std::string where = from == From::file ? "line " + std::to_string(line) + ": " : "";
    return quote_input(source) + ": " + where + name;
  }
  // Returns the exit status for a wrong value.
  [[nodiscard]] ExitStatus blame() const noexcept {
    return from == From::file ? ExitStatus::config : ExitStatus::usage;
  }
};

}  // namespace rlock::cli
