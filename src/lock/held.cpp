#include "lock/held.hpp"

#include <vector>

#include "base/percent.hpp"

namespace rlock::lock {
namespace {

std::vector<std::string_view> entries(std::string_view held) {
  std::vector<std::string_view> found;
  while (!held.empty()) {
    const std::size_t end = held.find(' ');
    if (end != 0) found.push_back(held.substr(0, end));
    held.remove_prefix(end == std::string_view::npos ? held.size() : end + 1);
  }
  return found;
}

bool is_entry_for(std::string_view entry, std::string_view name) {
  const std::size_t equals = entry.find('=');
  return equals != std::string_view::npos && percent_decode(entry.substr(0, equals)) == name;
}

}  // namespace

std::optional<HeldEntry> find_held(std::string_view held, std::string_view name) {
  for (const std::string_view entry : entries(held)) {
    if (!is_entry_for(entry, name)) continue;
    const std::string_view value = entry.substr(entry.find('=') + 1);
    const std::size_t slash = value.find('/');
    if (slash == 0 || slash == std::string_view::npos) continue;
    return HeldEntry{std::string(value.substr(0, slash)), std::string(value.substr(slash + 1))};
  }
  return std::nullopt;
}

std::string with_held(std::string_view held, std::string_view name, std::string_view owner,
                      std::string_view run) {
  std::string result;
  for (const std::string_view entry : entries(held)) {
    if (!is_entry_for(entry, name)) result += std::string(entry) + " ";
  }
  const auto before = find_held(held, name);
  result += percent_encode(name) + "=" + std::string(owner) + "/";
  if (before && before->owner == owner) result += before->runs + "/";
  return result + std::string(run);
}

}  // namespace rlock::lock
