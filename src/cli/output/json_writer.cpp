#include "cli/output/json_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/escape.hpp"
#include "cli/output/json.hpp"

namespace rlock::cli {
namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

}  // namespace

bool is_whole(double score) { return std::abs(score) < 9e15 && std::trunc(score) == score; }

void JsonWriter::separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

void JsonWriter::begin(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
}

void JsonWriter::end(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
}

void JsonWriter::literal(std::string_view value) {
  separate();
  out_ += value;
}

void JsonWriter::key(std::string_view key) {
  value(key);
  out_ += ':';
  needs_comma_ = false;
}

void JsonWriter::value(std::string_view text) {
  if (std::ranges::all_of(text, is_plain)) {
    separate();
    out_ += '"';
    out_ += text;
    out_ += '"';
  } else {
    literal(escape_as_codes(Json(to_utf8(text)).dump()));
  }
}

void JsonWriter::value(double number) {
  if (is_whole(number)) {
    value(static_cast<std::int64_t>(number));
  } else {
    literal(Json(number).dump());
  }
}

}  // namespace rlock::cli
