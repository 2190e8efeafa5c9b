#include "lock/words/held.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "base/percent.hpp"
#include "base/words.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::lock {
namespace {

constexpr std::size_t k_most_owners = 4;  // of one name: a nested run asks the server about each

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

// Returns whether a run of exec is among these: 16 hexadecimal digits.
bool has_run_of_exec(std::string_view runs) {
  return std::ranges::any_of(split(runs, '/'), [](std::string_view run) {
    return run.size() == 2 * k_run_id_bytes && from_hex(run).has_value();
  });
}

std::vector<Entry> entries(std::string_view held, std::size_t longest = k_longest_held) {
  std::vector<Entry> found;
  if (held.size() > longest) return found;
  for (const std::string_view text : split(held, ' ')) {
    if (auto entry = parse_entry(text)) found.push_back(std::move(*entry));
  }
  return found;
}

}  // namespace

std::optional<HeldEntry> find_held(std::string_view held, std::string_view name) {
  const std::vector<HeldEntry> found = find_all_held(held, name);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::vector<HeldEntry> find_all_held(std::string_view held, std::string_view name) {
  std::vector<HeldEntry> found;
  for (Entry& entry : entries(held)) {
    if (entry.name == name && found.size() < k_most_owners) found.push_back(std::move(entry.held));
  }
  return found;
}

std::string with_held(std::string_view held, std::string_view name, std::string_view owner,
                      std::string_view run) {
  std::string result;
  std::string outer;
  std::string runs;
  std::size_t owners = 1;
  for (const Entry& entry : entries(held)) {
    if (entry.name != name) {
      result += std::string(entry.text) + " ";
    } else if (entry.held.owner == owner) {
      if (runs.empty()) runs = entry.held.runs + "/";
    } else if (has_run_of_exec(entry.held.runs) && owners < k_most_owners) {
      outer += " " + std::string(entry.text);
      ++owners;
    }
  }
  result += percent_encode(name) + "=" + percent_encode(owner) + "/" + runs;
  return result + std::string(run) + outer;
}

std::string innermost_of(std::string_view held) {
  std::string result;
  std::set<std::string> names;
  for (const Entry& entry : entries(held, held.size())) {
    if (!names.insert(entry.name).second) continue;
    result += (result.empty() ? "" : " ") + std::string(entry.text);
  }
  return result;
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
