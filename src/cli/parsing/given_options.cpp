#include "cli/parsing/given_options.hpp"

#include <algorithm>

namespace rlock::cli {

GivenOptions::GivenOptions(const std::vector<std::string>& words) : has_all_(false) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with("--")) {
      long_names_.push_back(word.substr(0, word.find('=')));
    } else if (word.starts_with('-')) {
      letters_ += word;
    }
  }
}

bool GivenOptions::has_any_of(std::string_view names) const {
  for (std::size_t begin = 0; begin < names.size() && !has_all_;) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string_view name = names.substr(begin, end - begin);
    if (name.size() == 2 ? letters_.find(name[1]) != std::string::npos
                         : std::ranges::find(long_names_, name) != long_names_.end()) {
      return true;
    }
    begin = end + 1;
  }
  return has_all_;
}

}  // namespace rlock::cli
