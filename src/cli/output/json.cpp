#include "cli/output/json.hpp"

#include "base/escape.hpp"

namespace rlock::cli {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(to_utf8(text));
}

Json number_or_null(std::int64_t number) { return number != 0 ? Json(number) : Json(nullptr); }

}  // namespace rlock::cli
