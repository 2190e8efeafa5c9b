// JSON written straight into a text, for snapshots: with a value of nlohmann/json in between,
// `inspect-queue --json` of 100,000 waiters takes 1.8 to 2.5 times as long, and over twice the
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rlock::cli {

// Writes one value; whoever calls sees to it that what is begun is ended.
class JsonWriter {
 public:
  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }

  // Starts a member of an object: its value comes next. A key needs no escaping, a name may.
  void key(std::string_view key);
  void name(std::string_view name);

  // A string. Bytes that are not UTF-8 are written as to_utf8 does.
  void text(std::string_view value);
  void number(std::int64_t value);
  // Whole where it is_whole; null where JSON has no word for it.
  void number(double value);
  void boolean(bool value) { literal(value ? "true" : "false"); }
  void null() { literal("null"); }

  void number_or_null(const std::optional<std::int64_t>& value);

  // A whole member of an object.
  void text(std::string_view key, std::string_view value) {
    this->key(key);
    text(value);
  }
  // Null if `value` is empty.
  void text_or_null(std::string_view key, std::string_view value);
  template <typename Number>
  void number(std::string_view key, Number value) {
    this->key(key);
    number(value);
  }
  void number_or_null(std::string_view key, const std::optional<std::int64_t>& value) {
    this->key(key);
    number_or_null(value);
  }

  // Makes room for so many bytes.
  void reserve(std::size_t size) { out_.reserve(size); }

  // Returns what was written.
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void begin(char bracket);
  void end(char bracket);
  void literal(std::string_view value);
  void separate();

  std::string out_;
  bool needs_comma_ = false;
};

// Returns whether a score is to be shown without a fraction: scores are milliseconds.
[[nodiscard]] bool is_whole(double score);

}  // namespace rlock::cli
