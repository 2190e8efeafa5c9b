// What lua_scripts.hpp, which cmake/EmbedLua.cmake makes, is made of: calls of scripts whose keys
// and arguments have names and types, and the fields of their replies.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/key.hpp"
#include "redis/script.hpp"

namespace rlock::redis {

// An argument that is any text, but not a key's name.
struct Text : std::string {
  Text(std::string text) : std::string(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  Text(const char* text) : std::string(text) {}             // NOLINT(google-explicit-constructor)
  Text(const Key&) = delete;
};

// Words with "|" between them, as a constant of the compiler's.
template <std::size_t Size>
struct Words {
  consteval Words(const char (&words)[Size]) { std::copy_n(words, Size, text.begin()); }
  std::array<char, Size> text{};
};

// One of the words. Another one does not compile.
template <Words words>
class OneOf {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a word stands for itself
  consteval OneOf(const char* word) : word_(word) {
    // Letter by letter: for g++ 12 under UBSan, what find() returns is no constant.
    bool is_same = true;
    for (std::size_t i = 0, letters = 0;; ++i) {
      const char letter = words.text[i];
      const bool is_end = letter == '|' || letter == 0;
      if (is_end && is_same && letters == word_.size()) return;
      if (letter == 0) throw "not one of the words";
      is_same = is_end || (is_same && letters < word_.size() && word_[letters] == letter);
      letters = is_end ? 0 : letters + 1;
    }
  }
  [[nodiscard]] constexpr std::string_view text() const { return word_; }

 private:
  std::string_view word_;
};

template <typename T>
inline constexpr bool k_is_optional = false;
template <typename T>
inline constexpr bool k_is_optional<std::optional<T>> = true;

// Returns an argument as the server gets it.
template <typename T>
[[nodiscard]] std::string to_argument(const T& value) {
  if constexpr (k_is_optional<T>) {
    return value ? to_argument(*value) : std::string();
  } else if constexpr (std::is_same_v<T, Milliseconds>) {
    return std::to_string(value.count());
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_convertible_v<T, std::string>) {
    return value;
  } else {
    return std::string(value.text());
  }
}

// Returns keys and lists of keys in order, without those that are left out.
template <typename... Some>
[[nodiscard]] std::vector<std::string> keys(const Some&... some) {
  std::vector<std::string> all;
  [[maybe_unused]] const auto add = [&](const auto& key) {
    using T = std::decay_t<decltype(key)>;
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      all.insert(all.end(), key.begin(), key.end());
    } else if constexpr (k_is_optional<T>) {
      if (key) all.push_back(*key);
    } else {
      all.push_back(key);
    }
  };
  (add(some), ...);
  return all;
}

// Returns arguments and lists of arguments in order.
template <typename... Some>
[[nodiscard]] std::vector<std::string> args(const Some&... some) {
  std::vector<std::string> all;
  [[maybe_unused]] const auto add = [&](const auto& arg) {
    if constexpr (std::is_same_v<std::decay_t<decltype(arg)>, std::vector<std::string>>) {
      all.insert(all.end(), arg.begin(), arg.end());
    } else {
      all.push_back(to_argument(arg));
    }
  };
  (add(some), ...);
  return all;
}

// A reply {code, field...}, or the bare code. All functions throw ProtocolError where it is none,
// or too short.
class Fields {
 public:
  explicit Fields(const Reply& reply) : reply_(reply) {}

  [[nodiscard]] std::int64_t code() const {
    const bool is_bare = reply_.type == Reply::Type::integer;
    return (is_bare ? reply_ : reply_.as_array(1)[0]).as_integer();
  }

  // T: std::int64_t, std::string, std::vector<Reply>, or an optional of these.
  template <typename T>
  [[nodiscard]] T get(std::size_t place) const {
    if constexpr (k_is_optional<T>) {
      if (place >= reply_.as_array().size()) return std::nullopt;
      return get<typename T::value_type>(place);
    } else {
      const Reply& field = reply_.as_array(place + 1)[place];
      if constexpr (std::is_same_v<T, std::int64_t>) return field.as_integer();
      if constexpr (std::is_same_v<T, std::string>) return field.as_text();
      if constexpr (std::is_same_v<T, std::vector<Reply>>) return field.as_array();
    }
  }

  [[noreturn]] static void refuse() { throw ProtocolError("an unexpected answer of a script"); }

 private:
  const Reply& reply_;
};

}  // namespace rlock::redis
