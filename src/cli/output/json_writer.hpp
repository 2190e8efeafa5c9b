// JSON written straight into a text, for snapshots: with a value of nlohmann/json in between,
// `inspect-queue --json` of 100,000 waiters takes 1.8 to 2.5 times as long, and over twice the
// memory.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rlock::cli {

// Writes one value. Whoever calls sees to it that what is begun is ended.
class JsonWriter {
 public:
  // Begin and end an object, '{' and '}', or an array, '[' and ']'.
  void begin(char bracket);
  void end(char bracket);

  // Starts a member of an object: its value comes next.
  void key(std::string_view key);

  // Bytes that are not UTF-8 are written as to_utf8 does, and all others as to_line (json.hpp)
  // does.
  void value(std::string_view text);
  // Whole where it is_whole; null where JSON has no word for it.
  void value(double number);
  template <std::integral Number>
  void value(Number number) {
    if constexpr (std::same_as<Number, bool>) {
      literal(number ? "true" : "false");
    } else {
      literal(std::to_string(number));
    }
  }
  // Null if there is none.
  template <typename Value>
  void value(const std::optional<Value>& value) {
    if (value) return this->value(*value);
    literal("null");
  }

  // Adds a whole member of an object.
  template <typename Value>
  void member(std::string_view key, const Value& value) {
    this->key(key);
    this->value(value);
  }

  // Adds a member that is a list of objects: `write` writes the members of each item's.
  template <typename Items, typename Write>
  void objects(std::string_view key, const Items& items, const Write& write) {
    this->key(key);
    begin('[');
    for (const auto& item : items) {
      begin('{');
      write(item);
      end('}');
    }
    end(']');
  }

  // Reserves this many bytes.
  void reserve(std::size_t size) { out_.reserve(size); }

  // Returns what was written.
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void literal(std::string_view value);
  void separate();

  std::string out_;
  bool needs_comma_ = false;
};

// Returns whether a score is to be shown without a fraction: scores are milliseconds.
[[nodiscard]] bool is_whole(double score);

}  // namespace rlock::cli
