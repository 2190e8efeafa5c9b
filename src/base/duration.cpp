#include "base/duration.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/integer.hpp"

namespace rlock {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t milliseconds;
};

// "ms" stands before "s", which it ends with.
constexpr std::array<Unit, 6> k_units = {
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}, {"", 1000}}};
constexpr std::uint64_t k_longest = 100ULL * 365 * 24 * 3'600'000;

// Returns the part of a unit that the digits behind the point mean, rounded up.
std::optional<std::uint64_t> parse_fraction(std::string_view digits, std::uint64_t unit) {
  constexpr std::size_t k_most_digits = 11;
  if (digits.empty() || digits.size() > k_most_digits) return std::nullopt;
  const auto value = parse_integer<std::uint64_t>(digits);
  if (!value) return std::nullopt;
  std::uint64_t scale = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) scale *= 10;
  // At most 10^11 * 8.64 * 10^7: fits.
  return (*value * unit + scale - 1) / scale;
}

std::string two_units(long long large, const char* large_unit, long long small,
                      const char* small_unit) {
  const char* zero = small < 10 ? "0" : "";
  return std::to_string(large) + large_unit + zero + std::to_string(small) + small_unit;
}

}  // namespace

std::optional<Milliseconds> parse_duration(std::string_view text) {
  for (const Unit& unit : k_units) {
    if (!text.ends_with(unit.suffix)) continue;
    const std::string_view number = text.substr(0, text.size() - unit.suffix.size());
    const std::size_t point = std::min(number.find('.'), number.size());
    // ".5" is half of one, but "." is nothing.
    const bool is_fraction = point == 0 && number.size() > 1;
    const auto whole = parse_integer<std::uint64_t>(is_fraction ? "0" : number.substr(0, point));
    if (!whole || *whole > k_longest / unit.milliseconds) return std::nullopt;
    std::uint64_t milliseconds = *whole * unit.milliseconds;
    if (point < number.size()) {
      const auto part = parse_fraction(number.substr(point + 1), unit.milliseconds);
      if (!part) return std::nullopt;
      milliseconds += *part;
    }
    if (milliseconds > k_longest) return std::nullopt;
    return Milliseconds(milliseconds);
  }
  return std::nullopt;
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

std::string format_seconds(Milliseconds span) {
  return span < Milliseconds(1000) ? "0s" : format_duration(span);
}

}  // namespace rlock
