#include "explore/store_commands.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

namespace rlock::explore::commands {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::string:
      return "string";
    case Kind::hash:
      return "hash";
    case Kind::list:
      return "list";
    case Kind::zset:
      return "zset";
  }
  return "";
}

std::optional<std::int64_t> to_integer(const std::string& text) {
  if (text.empty() || text.size() > 20) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (errno != 0 || std::to_string(value) != text) return std::nullopt;
  return value;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::int64_t size_of(const Words& words) { return static_cast<std::int64_t>(words.size()); }

std::pair<std::size_t, std::size_t> range(std::int64_t first, std::int64_t last, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  if (first < 0) first = std::max<std::int64_t>(first + length, 0);
  if (last < 0) last += length;
  last = std::min(last, length - 1);
  if (first > last) return {0, 0};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

Value* find(Store& store, const std::string& key) {
  const auto found = store.keys.find(key);
  return found == store.keys.end() ? nullptr : &found->second;
}

bool is_other(Store& store, const std::string& key, Kind kind) {
  const Value* value = find(store, key);
  return value != nullptr && value->kind != kind;
}

Value& make(Store& store, const std::string& key, Kind kind) {
  Value& value = store.keys[key];
  value.kind = kind;
  return value;
}

void drop_if_empty(Store& store, const std::string& key) {
  const Value* value = find(store, key);
  if (value == nullptr || value->kind == Kind::string) return;
  if (value->hash.empty() && value->list.empty() && value->zset.empty()) store.keys.erase(key);
}

void refuse(const Words& words) {
  std::string text = "the model does not know";
  for (const std::string& word : words) text += " " + word;
  throw std::logic_error(text);
}

}  // namespace rlock::explore::commands
