// Any text as a duration.

#include "base/duration.hpp"
#include "fuzz/require.hpp"

using namespace rlock;
using namespace rlock::fuzz;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const auto span = parse_duration(text);
  if (!span) return 0;
  constexpr std::chrono::hours k_century(100 * 365 * 24);
  require(*span >= Milliseconds(0) && *span <= k_century, "0 to 100 years");
  require(text.find_first_not_of("0123456789.abcdefghijklmnopqrstuvwxyz") == std::string_view::npos,
          "only digits, points and small letters");
  require(parse_duration(std::to_string(span->count()) + "ms") == span, "the same as milliseconds");

  const std::string shown = format_duration(*span);
  require(!shown.empty() && is_plain(shown), "people can read it");
  // The shown unit that is smaller says how much is left out.
  const auto unit = *span < std::chrono::seconds(1)  ? Milliseconds(1)
                    : *span < std::chrono::hours(1)  ? Milliseconds(1000)
                    : *span < std::chrono::hours(24) ? Milliseconds(std::chrono::minutes(1))
                                                     : Milliseconds(std::chrono::hours(1));
  require(parse_duration(shown) == *span / unit * unit, "what is shown is understood");
  return 0;
}
