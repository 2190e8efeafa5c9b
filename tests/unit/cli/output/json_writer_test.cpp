#include "cli/output/json_writer.hpp"

#include <limits>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "base/escape.hpp"

using nlohmann::ordered_json;
using rlock::cli::JsonWriter;

namespace {

std::string text_of(std::string_view value) {
  JsonWriter json;
  json.value(value);
  return json.take();
}

std::string number_of(double value) {
  JsonWriter json;
  json.value(value);
  return json.take();
}

}  // namespace

TEST_CASE("objects and arrays have their commas, however they are nested") {
  JsonWriter json;
  json.begin('{');
  json.key("empty");
  json.begin('[');
  json.end(']');
  json.key("list");
  json.begin('[');
  json.begin('{');
  json.end('}');
  json.value(std::int64_t{-7});
  json.value(std::optional<bool>());
  json.begin('[');
  json.value(true);
  json.value(false);
  json.end(']');
  json.end(']');
  json.key("a\"b");
  json.value(std::optional<std::string>());
  json.key("last");
  json.value("x");
  json.end('}');
  CHECK(json.take() == R"({"empty":[],"list":[{},-7,null,[true,false]],"a\"b":null,"last":"x"})");
}

TEST_CASE("every byte is written as JSON wants it") {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = {'a', static_cast<char>(byte), 'z'};
    CAPTURE(byte);
    CHECK(ordered_json::parse(text_of(text)) == rlock::to_utf8(text));
    CHECK(ordered_json::parse(text_of(text.substr(1, 1))) == rlock::to_utf8(text.substr(1, 1)));
  }
  // Valid as they are, but a terminal may obey them.
  CHECK(text_of("\x7f\u009b\u202e") == R"("\u007f\u009b\u202e")");
  CHECK(text_of("") == "\"\"");
  CHECK(text_of("größer") == "\"größer\"");
}

TEST_CASE("numbers are whole where they are, and null where JSON has no word for them") {
  CHECK(number_of(1795275920507.0) == "1795275920507");
  CHECK(number_of(-0.0) == "0");
  CHECK(number_of(1.5) == "1.5");
  CHECK(number_of(1e300) == "1e+300");
  CHECK(number_of(std::numeric_limits<double>::infinity()) == "null");
  CHECK(number_of(std::numeric_limits<double>::quiet_NaN()) == "null");
  JsonWriter json;
  json.begin('[');
  json.value(std::numeric_limits<std::int64_t>::min());
  json.value(std::numeric_limits<std::int64_t>::max());
  json.end(']');
  CHECK(json.take() == "[-9223372036854775808,9223372036854775807]");
}
