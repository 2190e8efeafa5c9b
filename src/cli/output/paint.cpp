#include "cli/output/paint.hpp"

#include "cli/settings/globals.hpp"
#include "cli/settings/settings.hpp"
#include "cli/terminal/full_screen.hpp"

namespace rlock::cli {

std::string Paint::operator()(Tone tone, const std::string& text) const {
  if (!is_on_ || tone == Tone::plain || text.empty()) return text;
  const char* color = tone == Tone::good ? "32" : tone == Tone::busy ? "33" : "31";
  return "\x1b[" + std::string(color) + "m" + text + "\x1b[0m";
}

Paint find_paint(const Globals& globals) {
  if (globals.json) return Paint();
  const std::string when = globals.settings().get("color").value;
  return Paint(when == "always" || (when == "auto" && FullScreen::is_possible()));
}

}  // namespace rlock::cli
