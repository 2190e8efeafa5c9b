// The options and arguments of a command, or of rlock itself, and how --help shows them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/parsing/given_options.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rlock::cli {

// Refers to what the parser knows of them, so it may be copied. Adds only those that are given.
// Parsing fills the variables that these functions are given, which must outlive it.
class OptionSet {
 public:
  // Where a value goes. A vector takes several.
  using Target = std::variant<std::string*, std::optional<std::string>*, std::vector<std::string>*>;
  enum class Need { optional, required };

  OptionSet(CLI::App& app, const GivenOptions& given) : app_(app), given_(given) {}

  // Sets the usage line of the help, such as "rlock exec [OPTIONS] NAME... -- CMD", and the
  // examples at its end. Each line of `examples` must end with '\n'.
  void set_usage(std::string_view usage, std::string_view examples = "");
  // Sets the heading of the options that are added from now on. Returns the heading before.
  std::string set_group(const std::string& heading);

  void add_argument(std::string_view name, Target target, std::string_view help = "",
                    Need need = Need::required);
  // `names` are such as "-w,--wait". The help calls the value `placeholder`. If `choices` are
  // given, it must be one of them. If the target is a string with a value, the help adds it in
  // brackets: it is the default. tests/cli/documents/documentation_test.sh compares `help` with the
  // manual pages and the completions.
  void add_value(std::string_view names, Target target, std::string_view placeholder,
                 std::string_view help, const std::vector<std::string>& choices = {});
  void add_flag(std::string_view names, bool& flag, std::string_view help);
  // Sets `value` to "true", or to the value that the flag was given.
  void add_flag(std::string_view names, std::string& value, std::string_view help);

  // Adds other names of a flag, which other tools have. The help does not show them.
  void add_synonyms(std::string_view names, bool& flag);

  // `option` must not be given together with one of `others`. Call it when all have been added.
  void exclude(const std::string& option, std::initializer_list<const char*> others);
  // `option` may only be given together with `other`. Call it when both have been added. Throws
  // CLI::ParseError if `option` may be among the given options and `other` is not.
  void require(const std::string& option, const std::string& other);

  // Returns the name of the command.
  [[nodiscard]] const std::string& command() const;

 private:
  // Returns nothing if it is not given.
  [[nodiscard]] CLI::Option* find(const std::string& name) const;

  CLI::App& app_;
  const GivenOptions& given_;
};

}  // namespace rlock::cli
