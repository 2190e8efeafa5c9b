// JSON.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lua.hpp>
#include <string>
#include <strings.h>
#include <vector>

#include "explore/codecs.hpp"

namespace rlock::explore {
namespace {

// Lua leaves a function that fails by a jump, which passes destructors over: so those functions
// that own something return what is wrong, and only the outermost ones raise it.
using Failure = const char*;

constexpr int k_most_levels = 1000;

// Written.

void append_json_text(std::string& out, const char* text, std::size_t size) {
  out += '"';
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    static const char plain[] = "\b\t\n\f\r\"\\/", letters[] = "btnfr\"\\/";
    const char* found = byte == 0 ? nullptr : std::strchr(plain, byte);
    if (found != nullptr) {
      out += '\\';
      out += letters[found - plain];
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else {
      out += text[i];
    }
  }
  out += '"';
}

std::string json_number(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.14g", number);
  return text;
}

// Returns the highest index of a table that is an array, -1 of another, or -2 if most are missing.
double length_of_array(lua_State* lua, int index) {
  double most = 0, count = 0;
  lua_pushnil(lua);
  while (lua_next(lua, index) != 0) {
    lua_pop(lua, 1);
    const double key = lua_type(lua, -1) == LUA_TNUMBER ? lua_tonumber(lua, -1) : 0;
    if (key < 1 || key != std::floor(key)) {
      lua_pop(lua, 1);
      return -1;
    }
    most = std::max(most, key);
    ++count;
  }
  return most > 2 * count && most > 10 ? -2 : most;
}

Failure append_json(std::string& out, lua_State* lua, int level);

Failure append_json_array(std::string& out, lua_State* lua, int table, int length, int level) {
  out += '[';
  for (int i = 1; i <= length; ++i) {
    if (i > 1) out += ',';
    lua_rawgeti(lua, table, i);
    const Failure failure = append_json(out, lua, level);
    if (failure != nullptr) return failure;
    lua_pop(lua, 1);
  }
  out += ']';
  return nullptr;
}

Failure append_json_object(std::string& out, lua_State* lua, int table, int level) {
  std::vector<std::string> members;
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    std::string member;
    const int type = lua_type(lua, -2);
    if (type == LUA_TSTRING) {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, -2, &size);
      append_json_text(member, text, size);
    } else if (type == LUA_TNUMBER) {
      member = "\"" + json_number(lua_tonumber(lua, -2)) + "\"";
    } else {
      return "Cannot serialise: table key must be a number or string";
    }
    member += ':';
    const Failure failure = append_json(member, lua, level);
    if (failure != nullptr) return failure;
    lua_pop(lua, 1);
    members.push_back(std::move(member));
  }
  std::sort(members.begin(), members.end());
  out += '{';
  for (std::size_t i = 0; i < members.size(); ++i) out += (i > 0 ? "," : "") + members[i];
  out += '}';
  return nullptr;
}

// Writes the value on top of the stack, which stays there.
Failure append_json(std::string& out, lua_State* lua, int level) {
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, -1, &size);
      append_json_text(out, text, size);
      return nullptr;
    }
    case LUA_TNUMBER: {
      const double number = lua_tonumber(lua, -1);
      if (!std::isfinite(number)) return "Cannot serialise number: must not be NaN or Inf";
      out += json_number(number);
      return nullptr;
    }
    case LUA_TBOOLEAN:
      out += lua_toboolean(lua, -1) != 0 ? "true" : "false";
      return nullptr;
    case LUA_TNIL:
      out += "null";
      return nullptr;
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(lua, -1) != nullptr)
        return "Cannot serialise userdata: type not supported";
      out += "null";
      return nullptr;
    case LUA_TTABLE:
      break;
    default:
      return "Cannot serialise: type not supported";
  }
  if (level >= k_most_levels || lua_checkstack(lua, 3) == 0)
    return "Cannot serialise, excessive depth";
  const int table = lua_gettop(lua);
  const double length = length_of_array(lua, table);
  if (length == -2) return "Cannot serialise table: excessively sparse array";
  return length > 0 ? append_json_array(out, lua, table, static_cast<int>(length), level + 1)
                    : append_json_object(out, lua, table, level + 1);
}

// Read. The text ends with a zero.

class JsonReader {
 public:
  JsonReader(lua_State* lua, const char* text) : lua_(lua), at_(text) {}

  // Pushes the value of the whole text.
  bool read() { return read_value(0) && peek() == 0; }

 private:
  char peek() {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r') ++at_;
    return *at_;
  }

  bool skip(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  bool skip_word(const char* word) {
    if (std::strncmp(at_, word, std::strlen(word)) != 0) return false;
    at_ += std::strlen(word);
    return true;
  }

  bool read_value(int level) {
    const char first = peek();
    if (first == '{' || first == '[') {
      // Also where too many are open, as there is no room for them.
      if (level >= k_most_levels || lua_checkstack(lua_, 3) == 0) return false;
      ++at_;
      lua_newtable(lua_);
      return first == '{' ? read_object(level + 1) : read_array(level + 1);
    }
    if (first == '"') return read_text();
    const bool is_number = first == '-' || (first >= '0' && first <= '9');
    if (!is_number && skip_word("true")) {
      lua_pushboolean(lua_, 1);
    } else if (!is_number && skip_word("false")) {
      lua_pushboolean(lua_, 0);
    } else if (!is_number && skip_word("null")) {
      lua_pushlightuserdata(lua_, nullptr);
    } else if (is_number || first == '+' || strncasecmp(at_, "inf", 3) == 0 ||
               strncasecmp(at_, "nan", 3) == 0) {
      char* end = nullptr;
      const double number = std::strtod(at_, &end);
      if (end == at_) return false;
      at_ = end;
      lua_pushnumber(lua_, number);
    } else {
      return false;
    }
    return true;
  }

  bool read_object(int level) {
    if (skip('}')) return true;
    do {
      if (peek() != '"' || !read_text() || !skip(':') || !read_value(level)) return false;
      lua_rawset(lua_, -3);
    } while (skip(','));
    return skip('}');
  }

  bool read_array(int level) {
    if (skip(']')) return true;
    int i = 0;
    do {
      if (!read_value(level)) return false;
      lua_rawseti(lua_, -2, ++i);
    } while (skip(','));
    return skip(']');
  }

  bool read_text() {
    std::string text;
    for (++at_; *at_ != '"'; ++at_) {
      if (*at_ == 0) return false;
      if (*at_ != '\\') {
        text += *at_;
        continue;
      }
      ++at_;
      static const char letters[] = "btnfr\"\\/", plain[] = "\b\t\n\f\r\"\\/";
      if (*at_ == 'u') {
        if (!read_escape(text)) return false;
        continue;
      }
      const char* found = *at_ == 0 ? nullptr : std::strchr(letters, *at_);
      if (found == nullptr) return false;
      text += plain[found - letters];
    }
    ++at_;
    lua_pushlstring(lua_, text.data(), text.size());
    return true;
  }

  // At a "u"; ends at the last digit.
  bool read_digits(std::uint32_t& code) {
    code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = *++at_;
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return false;
      code = code * 16 + static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
  }

  bool read_escape(std::string& text) {
    std::uint32_t code = 0, low = 0;
    if (!read_digits(code)) return false;
    if ((code & 0xfc00) == 0xdc00) return false;
    if ((code & 0xfc00) == 0xd800) {
      if (*++at_ != '\\' || *++at_ != 'u' || !read_digits(low) || (low & 0xfc00) != 0xdc00)
        return false;
      code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
    }
    const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xc0 | code >> 6);
      add(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      add(0xe0 | code >> 12);
      add(0x80 | (code >> 6 & 0x3f));
      add(0x80 | (code & 0x3f));
    } else {
      add(0xf0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3f));
      add(0x80 | (code >> 6 & 0x3f));
      add(0x80 | (code & 0x3f));
    }
    return true;
  }

  lua_State* lua_;
  const char* at_;
};

Failure push_json(lua_State* lua) {
  std::string text;
  lua_settop(lua, 1);
  const Failure failure = append_json(text, lua, 0);
  if (failure == nullptr) lua_pushlstring(lua, text.data(), text.size());
  return failure;
}

bool push_decoded(lua_State* lua, const char* text, std::size_t size) {
  const bool is_wide = size >= 2 && (text[0] == 0 || text[1] == 0);
  return !is_wide && JsonReader(lua, text).read();
}

}  // namespace

int json_encode(lua_State* lua) {
  if (lua_gettop(lua) != 1) return luaL_error(lua, "expected 1 argument");
  const Failure failure = push_json(lua);
  return failure == nullptr ? 1 : luaL_error(lua, "%s", failure);
}

int json_decode(lua_State* lua) {
  if (lua_gettop(lua) != 1) return luaL_error(lua, "expected 1 argument");
  std::size_t size = 0;
  const char* text = luaL_checklstring(lua, 1, &size);
  return push_decoded(lua, text, size) ? 1 : luaL_error(lua, "this is no JSON");
}

}  // namespace rlock::explore
