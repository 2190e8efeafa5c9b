// Colour for what people read on stdout: the state of locks, and what is wrong with them.
#pragma once

#include <string>

namespace rlock::cli {

struct Globals;

enum class Tone { plain, good, busy, bad };  // as is, green, yellow, red

// Puts colour around a text, or leaves it as it is. The text must be harmless for a terminal
// already; display_width and fit (base/text_width.hpp) know what this adds.
class Paint {
 public:
  explicit Paint(bool is_on = false) : is_on_(is_on) {}

  [[nodiscard]] std::string operator()(Tone tone, const std::string& text) const;

 private:
  bool is_on_;
};

// Returns the paint for stdout that --color, NO_COLOR or a file asks for; none with --json. By
// default, only a terminal that can show colour gets it (TERM). Throws Error (config).
[[nodiscard]] Paint find_paint(const Globals& globals);

}  // namespace rlock::cli
