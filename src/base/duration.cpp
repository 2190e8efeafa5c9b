#include "base/duration.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/integer.hpp"

namespace rlock {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t milliseconds;
};

// The largest first: the parts of a duration come in this order.
constexpr std::array<Unit, 28> k_units = {{
    {"weeks", 604'800'000},
    {"week", 604'800'000},
    {"w", 604'800'000},
    {"days", 86'400'000},
    {"day", 86'400'000},
    {"d", 86'400'000},
    {"hours", 3'600'000},
    {"hour", 3'600'000},
    {"hrs", 3'600'000},
    {"hr", 3'600'000},
    {"h", 3'600'000},
    {"minutes", 60'000},
    {"minute", 60'000},
    {"mins", 60'000},
    {"min", 60'000},
    {"m", 60'000},
    {"seconds", 1000},
    {"second", 1000},
    {"secs", 1000},
    {"sec", 1000},
    {"s", 1000},
    {"milliseconds", 1},
    {"millisecond", 1},
    {"msecs", 1},
    {"msec", 1},
    {"millis", 1},
    {"ms", 1},
    {"", 1000},
}};
constexpr std::uint64_t k_longest = 100ULL * 365 * 24 * 3'600'000;

// Returns the part of a unit that the digits after the point mean, rounded up.
std::optional<std::uint64_t> parse_fraction(std::string_view digits, std::uint64_t unit) {
  constexpr std::size_t k_most_digits = 11;
  if (digits.empty() || digits.size() > k_most_digits) return std::nullopt;
  const auto value = parse_integer<std::uint64_t>(digits);
  if (!value) return std::nullopt;
  std::uint64_t scale = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) scale *= 10;
  if (*value > (std::numeric_limits<std::uint64_t>::max() - scale) / unit) return std::nullopt;
  return (*value * unit + scale - 1) / scale;
}

// Returns `number` units, or nothing if it is no number or too large.
std::optional<std::uint64_t> parse_part(std::string_view number, std::uint64_t unit) {
  const std::size_t point = std::min(number.find('.'), number.size());
  // ".5" is half of one, but "." is nothing.
  const bool is_fraction = point == 0 && number.size() > 1;
  const auto whole = parse_integer<std::uint64_t>(is_fraction ? "0" : number.substr(0, point));
  if (!whole || *whole > k_longest / unit) return std::nullopt;
  if (point == number.size()) return *whole * unit;
  const auto part = parse_fraction(number.substr(point + 1), unit);
  return part ? std::optional(*whole * unit + *part) : std::nullopt;
}

std::string two_units(long long large, const char* large_unit, long long small,
                      const char* small_unit) {
  const char* zero = small < 10 ? "0" : "";
  return std::to_string(large) + large_unit + zero + std::to_string(small) + small_unit;
}

}  // namespace

std::optional<Milliseconds> parse_duration(std::string_view text) {
  constexpr std::string_view k_number = "0123456789.";
  std::uint64_t total = 0;
  std::uint64_t unit_before = k_longest;
  do {
    const std::size_t letters = std::min(text.find_first_not_of(k_number), text.size());
    const std::size_t end = std::min(text.find_first_of(k_number, letters), text.size());
    const auto* const unit =
        std::ranges::find(k_units, text.substr(letters, end - letters), &Unit::name);
    const bool is_bare = letters == text.size();
    if (unit == k_units.end() || unit->milliseconds >= unit_before) return std::nullopt;
    if (is_bare && unit_before != k_longest) return std::nullopt;
    const auto part = parse_part(text.substr(0, letters), unit->milliseconds);
    if (!part || total + *part > k_longest) return std::nullopt;
    total += *part;
    unit_before = unit->milliseconds;
    text.remove_prefix(end);
  } while (!text.empty());
  return Milliseconds(total);
}

std::string format_duration(Milliseconds span) {
  const long long milliseconds = span.count();
  if (milliseconds < 1000) return std::to_string(milliseconds) + "ms";
  const long long seconds = milliseconds / 1000;
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600) return two_units(seconds / 60, "m", seconds % 60, "s");
  const long long minutes = seconds / 60;
  if (minutes < 1440) return two_units(minutes / 60, "h", minutes % 60, "m");
  return two_units(minutes / 1440, "d", minutes / 60 % 24, "h");
}

std::string format_age(Milliseconds span) {
  return span < Milliseconds(1000) ? "less than 1s" : format_duration(span);
}

std::string format_seconds(Milliseconds span) {
  return span < Milliseconds(1000) ? "0s" : format_duration(span);
}

}  // namespace rlock
