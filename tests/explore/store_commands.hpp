// What the commands of the model have in common: how they read words, find keys and refuse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "explore/store.hpp"

namespace rlock::explore::commands {

using Kind = Value::Kind;

struct Command {
  int count;  // of words, with its name; below 0: so many or more
  Reply (*run)(Store&, const Words&);
};

using Commands = std::unordered_map<std::string, Command>;

// Commands by their names, each in the forms that the scripts use, and with the errors that these
// can have. `key_commands` also has those of the server and of channels.
[[nodiscard]] const Commands& key_commands();
[[nodiscard]] const Commands& string_commands();
[[nodiscard]] const Commands& hash_commands();
[[nodiscard]] const Commands& list_commands();
[[nodiscard]] const Commands& zset_commands();

inline const Reply k_nil{};
inline const Reply k_ok = Reply::status("OK");
inline const Reply k_wrong_type =
    Reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
inline const Reply k_zero = Reply::number(0);
inline const Reply k_no_integer = Reply::error("ERR value is not an integer or out of range");
inline const Reply k_overflow = Reply::error("ERR increment or decrement would overflow");
inline const Reply k_syntax = Reply::error("ERR syntax error");

[[nodiscard]] const char* name_of(Kind kind);

// As Redis: no sign but a minus, no leading zeros, no spaces.
[[nodiscard]] std::optional<std::int64_t> to_integer(const std::string& text);
[[nodiscard]] std::string lower(std::string text);
[[nodiscard]] std::int64_t size_of(const Words& words);

// Makes of Redis' two places, which count from the end where they are negative, a half-open range.
[[nodiscard]] std::pair<std::size_t, std::size_t> range(std::int64_t first, std::int64_t last,
                                                        std::size_t size);

// Returns the value of a key, or nullptr.
[[nodiscard]] Value* find(Store& store, const std::string& key);
// Whether there is a key of another kind.
[[nodiscard]] bool is_other(Store& store, const std::string& key, Kind kind);
Value& make(Store& store, const std::string& key, Kind kind);
void drop_if_empty(Store& store, const std::string& key);

// Calls `action` with the value of a command's key, if it is of this kind. Returns `none` without
// such a key.
template <typename Action>
Reply with(Store& store, const Words& words, Kind kind, const Reply& none, Action action) {
  const std::string& key = words[1];
  Value* value = find(store, key);
  if (value == nullptr) return none;
  if (value->kind != kind) return k_wrong_type;
  Reply reply = action(*value);
  drop_if_empty(store, key);
  return reply;
}

// Throws std::logic_error: the model does not know this form of a command.
[[noreturn]] void refuse(const Words& words);

}  // namespace rlock::explore::commands
