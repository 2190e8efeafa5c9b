// MessagePack.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <lua.hpp>
#include <string>

#include "explore/codecs.hpp"

namespace rlock::explore {
namespace {

// Lua leaves a function that fails by a jump, which passes destructors over: so those functions
// that own something return what is wrong, and only the outermost ones raise it.
using Failure = const char*;

// Written.

constexpr int k_most_packed_levels = 16;

void append_bytes(std::string& out, int head, std::uint64_t number, int bytes) {
  out += static_cast<char>(head);
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(number >> (8 * i));
}

void append_size(std::string& out, std::size_t size, int small, std::size_t most_small,
                 int one_byte, int two_bytes) {
  if (size <= most_small) {
    out += static_cast<char>(small | static_cast<int>(size));
  } else if (one_byte != 0 && size <= 0xff) {
    append_bytes(out, one_byte, size, 1);
  } else if (size <= 0xffff) {
    append_bytes(out, two_bytes, size, 2);
  } else {
    append_bytes(out, two_bytes + 1, size, 4);
  }
}

void pack_integer(std::string& out, std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  if (number >= -32 && number <= 127) {
    out += static_cast<char>(number);
  } else if (number >= 0) {
    const int size = number <= 0xff ? 0 : number <= 0xffff ? 1 : number <= 0xffffffff ? 2 : 3;
    append_bytes(out, 0xcc + size, bits, 1 << size);
  } else {
    const int size = number >= INT8_MIN ? 0 : number >= INT16_MIN ? 1 : number >= INT32_MIN ? 2 : 3;
    append_bytes(out, 0xd0 + size, bits, 1 << size);
  }
}

void pack_number(std::string& out, double number) {
  constexpr double k_end = 9223372036854775808.0;
  if (number >= -k_end && number < k_end && number == std::floor(number)) {
    pack_integer(out, static_cast<std::int64_t>(number));
  } else if (static_cast<double>(static_cast<float>(number)) == number) {
    append_bytes(out, 0xca, std::bit_cast<std::uint32_t>(static_cast<float>(number)), 4);
  } else {
    append_bytes(out, 0xcb, std::bit_cast<std::uint64_t>(number), 8);
  }
}

// Packs the value on top of the stack, which stays there.
void append_packed(std::string& out, lua_State* lua, int level) {
  const int type = lua_type(lua, -1);
  if (type == LUA_TSTRING) {
    std::size_t size = 0;
    const char* text = lua_tolstring(lua, -1, &size);
    append_size(out, size, 0xa0, 31, 0xd9, 0xda);
    out.append(text, size);
  } else if (type == LUA_TBOOLEAN) {
    out += static_cast<char>(lua_toboolean(lua, -1) != 0 ? 0xc3 : 0xc2);
  } else if (type == LUA_TNUMBER) {
    pack_number(out, lua_tonumber(lua, -1));
  } else if (type != LUA_TTABLE || level == k_most_packed_levels || lua_checkstack(lua, 3) == 0) {
    out += '\xc0';
  } else {
    const int table = lua_gettop(lua);
    std::size_t count = 0;
    double most = 0;
    bool is_array = true;
    for (lua_pushnil(lua); lua_next(lua, table) != 0; lua_pop(lua, 1)) {
      const double key = lua_type(lua, -2) == LUA_TNUMBER ? lua_tonumber(lua, -2) : 0;
      is_array = is_array && key > 0 && key == std::floor(key);
      most = std::max(most, key);
      ++count;
    }
    if (is_array && most == static_cast<double>(count)) {
      append_size(out, count, 0x90, 15, 0, 0xdc);
      for (int i = 1; i <= static_cast<int>(count); ++i) {
        lua_rawgeti(lua, table, i);
        append_packed(out, lua, level + 1);
        lua_pop(lua, 1);
      }
      return;
    }
    append_size(out, count, 0x80, 15, 0, 0xde);
    for (lua_pushnil(lua); lua_next(lua, table) != 0; lua_pop(lua, 1)) {
      lua_pushvalue(lua, -2);
      append_packed(out, lua, level + 1);
      lua_pop(lua, 1);
      append_packed(out, lua, level + 1);
    }
  }
}

// Read.

class Unpacker {
 public:
  Unpacker(lua_State* lua, const char* bytes, std::size_t size)
      : lua_(lua), at_(bytes), end_(bytes + size) {}

  [[nodiscard]] bool is_at_end() const { return at_ == end_; }

  // Pushes the next value.
  Failure read() {
    if (at_ == end_) return k_missing;
    if (lua_checkstack(lua_, 4) == 0) return "too many values";
    const auto head = static_cast<unsigned char>(*at_++);
    if (head < 0x80 || head >= 0xe0) {
      lua_pushnumber(lua_, static_cast<std::int8_t>(head));
      return nullptr;
    }
    if (head < 0x90) return read_map(head & 0x0f);
    if (head < 0xa0) return read_array(head & 0x0f);
    if (head < 0xc0) return read_text(head & 0x1f);
    switch (head) {
      case 0xc0:
        lua_pushnil(lua_);
        return nullptr;
      case 0xc2:
      case 0xc3:
        lua_pushboolean(lua_, head & 1);
        return nullptr;
      case 0xca:
      case 0xcb:
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return read_number(head);
      default:
        break;
    }
    static const struct {
      unsigned char head;
      int bytes;
      Failure (Unpacker::*read)(std::uint64_t);
    } sized[] = {{0xd9, 1, &Unpacker::read_text},  {0xda, 2, &Unpacker::read_text},
                 {0xdb, 4, &Unpacker::read_text},  {0xdc, 2, &Unpacker::read_array},
                 {0xdd, 4, &Unpacker::read_array}, {0xde, 2, &Unpacker::read_map},
                 {0xdf, 4, &Unpacker::read_map}};
    for (const auto& one : sized) {
      if (one.head != head) continue;
      std::uint64_t size = 0;
      return read_bits(one.bytes, size) ? (this->*one.read)(size) : k_missing;
    }
    return "Bad data format in input.";
  }

 private:
  static constexpr Failure k_missing = "Missing bytes in input.";

  bool read_bits(int bytes, std::uint64_t& bits) {
    if (end_ - at_ < bytes) return false;
    bits = 0;
    for (int i = 0; i < bytes; ++i) bits = bits << 8 | static_cast<unsigned char>(*at_++);
    return true;
  }

  Failure read_number(unsigned char head) {
    std::uint64_t bits = 0;
    const int bytes = head == 0xca ? 4 : head == 0xcb ? 8 : 1 << ((head - 0xcc) & 3);
    if (!read_bits(bytes, bits)) return k_missing;
    double number = static_cast<double>(bits);
    if (head == 0xca) number = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (head == 0xcb) number = std::bit_cast<double>(bits);
    if (head == 0xd0) number = static_cast<std::int8_t>(bits);
    if (head == 0xd1) number = static_cast<std::int16_t>(bits);
    if (head == 0xd2) number = static_cast<std::int32_t>(bits);
    if (head == 0xd3) number = static_cast<double>(static_cast<std::int64_t>(bits));
    lua_pushnumber(lua_, number);
    return nullptr;
  }

  Failure read_text(std::uint64_t size) {
    if (static_cast<std::uint64_t>(end_ - at_) < size) return k_missing;
    lua_pushlstring(lua_, at_, size);
    at_ += size;
    return nullptr;
  }

  Failure read_array(std::uint64_t size) {
    lua_newtable(lua_);
    for (std::uint64_t i = 1; i <= size; ++i) {
      if (const Failure failure = read(); failure != nullptr) return failure;
      lua_rawseti(lua_, -2, static_cast<int>(i));
    }
    return nullptr;
  }

  Failure read_map(std::uint64_t size) {
    lua_newtable(lua_);
    for (std::uint64_t i = 0; i < size; ++i) {
      for (int part = 0; part < 2; ++part) {
        if (const Failure failure = read(); failure != nullptr) return failure;
      }
      const bool is_nan = lua_type(lua_, -2) == LUA_TNUMBER && std::isnan(lua_tonumber(lua_, -2));
      if (lua_isnil(lua_, -2) || is_nan) return "table index is nil";
      lua_rawset(lua_, -3);
    }
    return nullptr;
  }

  lua_State* lua_;
  const char* at_;
  const char* end_;
};

void push_packed(lua_State* lua) {
  const int count = lua_gettop(lua);
  std::string out;
  for (int i = 1; i <= count; ++i) {
    lua_pushvalue(lua, i);
    append_packed(out, lua, 0);
    lua_pop(lua, 1);
  }
  lua_pushlstring(lua, out.data(), out.size());
}

}  // namespace

int pack(lua_State* lua) {
  if (lua_gettop(lua) == 0) return luaL_error(lua, "MessagePack pack needs input.");
  push_packed(lua);
  return 1;
}

int unpack(lua_State* lua) {
  std::size_t size = 0;
  const char* bytes = luaL_checklstring(lua, 1, &size);
  lua_settop(lua, 1);
  Unpacker unpacker(lua, bytes, size);
  while (!unpacker.is_at_end()) {
    const Failure failure = unpacker.read();
    if (failure != nullptr) return luaL_error(lua, "%s", failure);
  }
  return lua_gettop(lua) - 1;
}

}  // namespace rlock::explore
