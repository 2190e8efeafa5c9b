#include "lock/words/held.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/percent.hpp"
#include "base/words.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::lock {
namespace {

// An entry, understood.
struct Entry {
  std::string_view text;
  std::string name;
  HeldEntry held;
};

// As a name or an owner.
bool is_plausible(const std::optional<std::string>& text) {
  return text && !text->empty() && text->size() <= k_longest_name;
}

bool are_runs(std::string_view text) {
  return !text.empty() && text.front() != '/' && std::ranges::all_of(text, [](unsigned char byte) {
    return (byte < 0x80 && std::isalnum(byte) != 0) || byte == '/';
  });
}

std::optional<Entry> parse_entry(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || equals > slash) return std::nullopt;
  const auto name = percent_decode(text.substr(0, equals));
  const auto owner = percent_decode(text.substr(equals + 1, slash - equals - 1));
  const std::string_view runs = text.substr(slash + 1);
  if (!is_plausible(name) || !is_plausible(owner) || !are_runs(runs)) return std::nullopt;
  return Entry{text, *name, {*owner, std::string(runs)}};
}

std::vector<Entry> entries(std::string_view held) {
  std::vector<Entry> found;
  if (held.size() > k_longest_held) return found;
  for (const std::string_view text : split(held, ' ')) {
    if (auto entry = parse_entry(text)) found.push_back(std::move(*entry));
  }
  return found;
}

}  // namespace

std::optional<HeldEntry> find_held(std::string_view held, std::string_view name) {
  for (const Entry& entry : entries(held)) {
    if (entry.name == name) return entry.held;
  }
  return std::nullopt;
}

std::string with_held(std::string_view held, std::string_view name, std::string_view owner,
                      std::string_view run) {
  std::string result;
  for (const Entry& entry : entries(held)) {
    if (entry.name != name) result += std::string(entry.text) + " ";
  }
  const auto before = find_held(held, name);
  result += percent_encode(name) + "=" + percent_encode(owner) + "/";
  if (before && before->owner == owner) result += before->runs + "/";
  return result + std::string(run);
}

std::string with_runs(std::string_view held, const RunsOf& runs_of) {
  std::string result;
  for (const Entry& entry : entries(held)) {
    const std::string runs = runs_of(entry.name, entry.held);
    if (runs.empty()) continue;
    result += (result.empty() ? "" : " ") + percent_encode(entry.name) + "=" +
              percent_encode(entry.held.owner) + "/" + runs;
  }
  return result;
}

}  // namespace rlock::lock
