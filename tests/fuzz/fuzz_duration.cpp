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
  require(text.find_first_not_of("0123456789.mshd") == std::string_view::npos, "only such letters");
  require(parse_duration(std::to_string(span->count()) + "ms") == span, "the same as milliseconds");

  const std::string shown = format_duration(*span);
  require(!shown.empty() && is_plain(shown), "people can read it");
  if (*span < std::chrono::seconds(1)) {
    require(parse_duration(shown) == span, "a short span is shown as it is");
  } else if (*span < std::chrono::minutes(1)) {
    require(parse_duration(shown) == std::chrono::floor<std::chrono::seconds>(*span),
            "less than a minute is shown in whole seconds");
  }
  return 0;
}
