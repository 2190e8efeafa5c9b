// Any bytes on their way to a terminal, to JSON, and into a URL.

#include <nlohmann/json.hpp>

#include "base/escape.hpp"
#include "base/percent.hpp"
#include "fuzz/require.hpp"

using namespace rlock;
using namespace rlock::fuzz;

namespace {

bool has_control(std::string_view text) {
  char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return true;
    if (before == '\xC2' && byte < 0xA0) return true;  // C1
    before = c;
  }
  return false;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = as_text(data, size);
  const std::string shown = escape_for_terminal(bytes);
  require(!has_control(shown), "no control character reaches a terminal");
  require(escape_for_terminal(shown) == shown, "what is harmless stays as it is");
  require(!is_plain(bytes) || shown == bytes, "plain text stays as it is");

  const std::string text = to_utf8(bytes);
  require(to_utf8(text) == text, "what is UTF-8 stays as it is");
  require(to_utf8(shown) == shown, "what is shown is UTF-8");
  // Throws if it is not UTF-8.
  const nlohmann::json json = text;
  require(nlohmann::json::parse(json.dump()) == json, "JSON holds it");

  const std::string encoded = percent_encode(bytes);
  require(is_plain(encoded) && encoded.find_first_of(" /=@?#") == std::string::npos,
          "nothing of meaning in a URL or in RLOCK_HELD is left");
  require(percent_decode(encoded) == bytes, "every byte comes back");
  if (const auto decoded = percent_decode(bytes)) {
    require(percent_decode(percent_encode(*decoded)) == decoded, "every byte comes back");
  }
  return 0;
}
