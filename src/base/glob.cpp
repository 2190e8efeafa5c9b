#include "base/glob.hpp"

#include <algorithm>

#include "base/escape.hpp"

namespace rlock {
namespace {

// Returns whether the class, such as "a-z]" or "^abc]", of which `rest` is what follows the opening
// bracket, has `c`. Takes it off `rest`; one that is not closed ends with the pattern.
bool take_class(std::string_view& rest, char c) {
  const bool inverted = rest.starts_with('^');
  if (inverted) rest.remove_prefix(1);
  bool found = false;
  while (!rest.empty() && rest[0] != ']') {
    if (rest.size() >= 2 && rest[0] == '\\') {
      found = found || rest[1] == c;
      rest.remove_prefix(2);
    } else if (rest.size() >= 3 && rest[1] == '-') {
      const auto [low, high] = std::minmax(rest[0], rest[2]);
      found = found || (low <= c && c <= high);
      rest.remove_prefix(3);
    } else {
      found = found || rest[0] == c;
      rest.remove_prefix(1);
    }
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return found != inverted;
}

// Returns whether `c` is meant by the first element of `rest`, which is no `*`, and takes it off.
bool take_element(std::string_view& rest, char c) {
  const char first = rest[0];
  rest.remove_prefix(1);
  if (first == '?') return true;
  if (first == '[') return take_class(rest, c);
  if (first != '\\' || rest.empty()) return first == c;
  const char literal = rest[0];
  rest.remove_prefix(1);
  return literal == c;
}

}  // namespace

std::string literal_glob(std::string_view text) { return with_backslashes(text, "*?[]^-\\"); }

bool matches_glob(std::string_view pattern, std::string_view text) {
  // If the part after the last star does not match, the star takes one more byte, and matching goes
  // on here.
  bool has_star = false;
  std::string_view behind_star;
  std::string_view text_there;
  while (!text.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      has_star = true;
      behind_star = pattern;
      text_there = text;
      continue;
    }
    if (!pattern.empty() && take_element(pattern, text[0])) {
      text.remove_prefix(1);
      continue;
    }
    if (!has_star) return false;
    text_there.remove_prefix(1);
    text = text_there;
    pattern = behind_star;
  }
  return pattern.find_first_not_of('*') == std::string_view::npos;
}

}  // namespace rlock
