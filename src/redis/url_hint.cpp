#include "redis/url_hint.hpp"

#include <algorithm>
#include <cctype>

namespace rlock::redis {
namespace {

bool is_digit(unsigned char c) { return std::isdigit(c) != 0; }

// Returns whether the text has only letters, digits and `others`.
bool has_only(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || others.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// Returns whether the text is HOST:PORT, or a HOST that looks like one.
bool is_host(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  if (host.empty() || !has_only(host, ".-")) return false;
  if (colon == std::string_view::npos) {
    return host == "localhost" || host.find('.') != std::string_view::npos;
  }
  const std::string_view port = text.substr(colon + 1);
  return !port.empty() && port.size() <= 5 && std::ranges::all_of(port, is_digit);
}

}  // namespace

std::optional<std::string> url_hint(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space != std::string_view::npos && text.find("://", space) != std::string_view::npos) {
    return "it has a space in it: give each server separately";
  }
  const bool is_path = text.starts_with('/') && !text.starts_with("//") && has_only(text, "/._-");
  if (!is_path && !is_host(text)) return std::nullopt;
  return std::string("put ") + (is_path ? "unix://" : "redis://") + " in front of it";
}

}  // namespace rlock::redis
