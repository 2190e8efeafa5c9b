// Commands of the model: strings.
#include "explore/store_commands.hpp"

namespace rlock::explore::commands {
namespace {

Reply get(Store& store, const Words& words) {
  return with(store, words, Kind::string, k_nil,
              [](Value& value) { return Reply::bulk(value.text); });
}

Reply strlen(Store& store, const Words& words) {
  return with(store, words, Kind::string, k_zero, [](Value& value) {
    return Reply::number(static_cast<std::int64_t>(value.text.size()));
  });
}

Reply set(Store& store, const Words& words) {
  const std::string* px = nullptr;
  bool needs_none = false, needs_one = false, keeps = false;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::string option = lower(words[i]);
    if (option == "px" && !keeps && i + 1 < words.size()) {
      px = &words[++i];
    } else if (option == "nx" && !needs_one) {
      needs_none = true;
    } else if (option == "xx" && !needs_none) {
      needs_one = true;
    } else if (option == "keepttl" && px == nullptr) {
      keeps = true;
    } else {
      return k_syntax;
    }
  }
  const auto span = px == nullptr ? std::optional<std::int64_t>(1) : to_integer(*px);
  if (!span) return k_no_integer;
  if (*span <= 0 || *span > INT64_MAX - store.now_ms)
    return Reply::error("ERR invalid expire time in 'set' command");
  const Value* there = find(store, words[1]);
  if ((needs_none && there != nullptr) || (needs_one && there == nullptr)) return k_nil;
  Value value;
  value.text = words[2];
  value.end_ms = px != nullptr               ? store.now_ms + *span
                 : keeps && there != nullptr ? there->end_ms
                                             : 0;
  store.keys[words[1]] = std::move(value);
  return k_ok;
}

Reply incr(Store& store, const Words& words) {
  if (is_other(store, words[1], Kind::string)) return k_wrong_type;
  const Value* value = find(store, words[1]);
  const auto number = value == nullptr ? std::optional<std::int64_t>(0) : to_integer(value->text);
  if (!number) return k_no_integer;
  if (*number == INT64_MAX) return k_overflow;
  make(store, words[1], Kind::string).text = std::to_string(*number + 1);
  return Reply::number(*number + 1);
}

}  // namespace

const Commands& string_commands() {
  static const Commands all{
      {"get", {2, get}},
      {"strlen", {2, strlen}},
      {"set", {-3, set}},
      {"incr", {2, incr}},
  };
  return all;
}

}  // namespace rlock::explore::commands
