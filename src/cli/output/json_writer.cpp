#include "cli/output/json_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/escape.hpp"

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
  separate();
  out_ += '"';
  out_ += key;
  out_ += "\":";
  needs_comma_ = false;
}

void JsonWriter::name(std::string_view name) {
  text(name);
  out_ += ':';
  needs_comma_ = false;
}

void JsonWriter::text(std::string_view value) {
  if (std::ranges::all_of(value, is_plain)) {
    separate();
    out_ += '"';
    out_ += value;
    out_ += '"';
  } else {
    literal(nlohmann::json(to_utf8(value)).dump());
  }
}

void JsonWriter::number(std::int64_t value) {
  std::array<char, 24> digits;  // NOLINT: to_chars fills it
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  literal({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void JsonWriter::number(double value) {
  if (is_whole(value)) {
    number(static_cast<std::int64_t>(value));
  } else {
    literal(nlohmann::json(value).dump());
  }
}

void JsonWriter::number_or_null(const std::optional<std::int64_t>& value) {
  if (value) {
    number(*value);
  } else {
    null();
  }
}

void JsonWriter::text_or_null(std::string_view key, std::string_view value) {
  this->key(key);
  if (value.empty()) {
    null();
  } else {
    text(value);
  }
}

}  // namespace rlock::cli
