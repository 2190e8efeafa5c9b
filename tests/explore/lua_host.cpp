#include "explore/lua_host.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <lua.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "lua_scripts.hpp"

namespace rlock::explore {
namespace {

using nlohmann::json;

thread_local Store* store = nullptr;

void push_words(lua_State* lua, const Words& words) {
  lua_createtable(lua, static_cast<int>(words.size()), 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    lua_pushlstring(lua, words[i].data(), words[i].size());
    lua_rawseti(lua, -2, static_cast<int>(i) + 1);
  }
}

void push_field(lua_State* lua, const char* name, const std::string& text) {
  lua_createtable(lua, 0, 1);
  lua_pushlstring(lua, text.data(), text.size());
  lua_setfield(lua, -2, name);
}

// As Redis makes Lua's values of replies.
void push(lua_State* lua, const Reply& reply) {
  switch (reply.type) {
    case Reply::Type::nil:
      lua_pushboolean(lua, 0);
      return;
    case Reply::Type::integer:
      lua_pushnumber(lua, static_cast<lua_Number>(reply.integer));
      return;
    case Reply::Type::bulk:
      lua_pushlstring(lua, reply.text.data(), reply.text.size());
      return;
    case Reply::Type::status:
      push_field(lua, "ok", reply.text);
      return;
    case Reply::Type::error:
      push_field(lua, "err", reply.text);
      return;
    case Reply::Type::array:
      break;
  }
  lua_createtable(lua, static_cast<int>(reply.items.size()), 0);
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    push(lua, reply.items[i]);
    lua_rawseti(lua, -2, static_cast<int>(i) + 1);
  }
}

std::string text_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* text = lua_tolstring(lua, index, &size);
  return {text, size};
}

// As Redis makes replies of Lua's values.
Reply reply_at(lua_State* lua, int index) {
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
      return Reply::number(static_cast<std::int64_t>(lua_tonumber(lua, index)));
    case LUA_TSTRING:
      return Reply::bulk(text_at(lua, index));
    case LUA_TBOOLEAN:
      return lua_toboolean(lua, index) != 0 ? Reply::number(1) : Reply{};
    case LUA_TTABLE:
      break;
    default:
      return {};
  }
  for (const auto& [field, type] :
       {std::pair{"err", Reply::Type::error}, std::pair{"ok", Reply::Type::status}}) {
    lua_getfield(lua, index, field);
    const bool is_there = lua_isstring(lua, -1) != 0;
    Reply reply{type, 0, is_there ? text_at(lua, -1) : "", {}};
    lua_pop(lua, 1);
    if (is_there) return reply;
  }
  Reply reply = Reply::array();
  for (int i = 1;; ++i) {
    lua_rawgeti(lua, index, i);
    const bool is_end = lua_isnil(lua, -1);
    if (!is_end) reply.items.push_back(reply_at(lua, lua_gettop(lua)));
    lua_pop(lua, 1);
    if (is_end) return reply;
  }
}

// Redis gives numbers to commands with up to 17 digits.
std::string argument_at(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TNUMBER) return text_at(lua, index);
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", lua_tonumber(lua, index));
  return text;
}

int call(lua_State* lua, bool raises) {
  Words words;
  const int count = lua_gettop(lua);
  for (int i = 1; i <= count; ++i) {
    if (lua_isstring(lua, i) == 0) {
      push_field(lua, "err", "ERR Lua redis lib command arguments must be strings or integers");
      return raises ? lua_error(lua) : 1;
    }
    words.push_back(argument_at(lua, i));
  }
  Reply reply;
  bool is_known = true;
  try {
    reply = store->run(words);
  } catch (const std::logic_error&) {
    is_known = false;
  }
  if (!is_known) return luaL_error(lua, "the model does not know %s", words[0].c_str());
  push(lua, reply);
  return raises && reply.type == Reply::Type::error ? lua_error(lua) : 1;
}

int redis_call(lua_State* lua) { return call(lua, true); }
int redis_pcall(lua_State* lua) { return call(lua, false); }

void push_json(lua_State* lua, const json& value) {
  if (value.is_object()) {
    lua_createtable(lua, 0, static_cast<int>(value.size()));
    for (const auto& [name, item] : value.items()) {
      push_json(lua, item);
      lua_setfield(lua, -2, name.c_str());
    }
  } else if (value.is_array()) {
    lua_createtable(lua, static_cast<int>(value.size()), 0);
    for (std::size_t i = 0; i < value.size(); ++i) {
      push_json(lua, value[i]);
      lua_rawseti(lua, -2, static_cast<int>(i) + 1);
    }
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    lua_pushlstring(lua, text.data(), text.size());
  } else if (value.is_number()) {
    lua_pushnumber(lua, value.get<double>());
  } else if (value.is_boolean()) {
    lua_pushboolean(lua, value.get<bool>() ? 1 : 0);
  } else {
    lua_pushlightuserdata(lua, nullptr);
  }
}

json json_at(lua_State* lua, int index) {
  switch (lua_type(lua, index)) {
    case LUA_TSTRING:
      return text_at(lua, index);
    case LUA_TBOOLEAN:
      return lua_toboolean(lua, index) != 0;
    case LUA_TTABLE:
      break;
    case LUA_TNUMBER: {
      const double number = lua_tonumber(lua, index);
      if (number == std::floor(number) && std::abs(number) < 9e15)
        return static_cast<std::int64_t>(number);
      return number;
    }
    default:
      return nullptr;
  }
  const bool is_array = lua_objlen(lua, index) > 0;
  json value = is_array ? json::array() : json::object();
  lua_pushnil(lua);
  while (lua_next(lua, index) != 0) {
    json item = json_at(lua, lua_gettop(lua));
    if (is_array) {
      value.push_back(std::move(item));
    } else {
      value[text_at(lua, -2)] = std::move(item);
    }
    lua_pop(lua, 1);
  }
  return value;
}

int json_decode(lua_State* lua) {
  const json value = json::parse(text_at(lua, 1), nullptr, false);
  if (value.is_discarded()) return luaL_error(lua, "no JSON");
  push_json(lua, value);
  return 1;
}

int json_encode(lua_State* lua) {
  const std::string text = json_at(lua, 1).dump();
  lua_pushlstring(lua, text.data(), text.size());
  return 1;
}

std::string read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

LuaHost::LuaHost(const std::string& folder) : lua_(luaL_newstate(), lua_close) {
  lua_State* lua = lua_.get();
  luaL_openlibs(lua);
  const auto add_library =
      [&](const char* name, const std::vector<std::pair<const char*, lua_CFunction>>& functions) {
        lua_newtable(lua);
        for (const auto& [function, code] : functions) {
          lua_pushcfunction(lua, code);
          lua_setfield(lua, -2, function);
        }
        lua_setglobal(lua, name);
      };
  add_library("redis", {{"call", redis_call}, {"pcall", redis_pcall}});
  add_library("cjson", {{"encode", json_encode}, {"decode", json_decode}});
  // What is packed is only read by the same library: any form will do.
  add_library("cmsgpack", {{"pack", json_encode}, {"unpack", json_decode}});
  if (folder.empty()) {
    for (const redis::Script* script :
         {&lua::acquire, &lua::acquire_fair, &lua::acquire_simple, &lua::reenter, &lua::renew,
          &lua::release, &lua::force_release, &lua::evict, &lua::check_token}) {
      load(std::string(script->name), std::string(script->text));
    }
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".lua") continue;
    std::string text = read(entry.path());
    const std::regex include("--#include ([a-z_]+\\.lua)\n");
    for (std::smatch match; std::regex_search(text, match, include);) {
      const std::string included = read(entry.path().parent_path() / "include" / match[1].str());
      text = match.prefix().str() + included + match.suffix().str();
    }
    load(entry.path().stem(), text);
  }
}

void LuaHost::load(const std::string& name, const std::string& text) {
  if (luaL_loadbuffer(lua_.get(), text.data(), text.size(), name.c_str()) != 0) {
    throw std::runtime_error(text_at(lua_.get(), -1));
  }
  scripts_[name] = luaL_ref(lua_.get(), LUA_REGISTRYINDEX);
  texts_[name] = text;
}

Reply LuaHost::run(const std::string& script, Store& target, const Words& keys, const Words& args) {
  lua_rawgeti(lua_.get(), LUA_REGISTRYINDEX, scripts_.at(script));
  return run_loaded(target, keys, args);
}

Reply LuaHost::eval(const std::string& code, Store& target, const Words& keys, const Words& args) {
  if (luaL_loadbuffer(lua_.get(), code.data(), code.size(), "@user_script") != 0) {
    Reply reply = Reply::error("ERR " + text_at(lua_.get(), -1));
    lua_settop(lua_.get(), 0);
    return reply;
  }
  return run_loaded(target, keys, args);
}

// Runs the chunk on top of the stack.
Reply LuaHost::run_loaded(Store& target, const Words& keys, const Words& args) {
  ++calls_;
  lua_State* lua = lua_.get();
  store = &target;
  push_words(lua, keys);
  lua_setglobal(lua, "KEYS");
  push_words(lua, args);
  lua_setglobal(lua, "ARGV");
  const int failed = lua_pcall(lua, 0, 1, 0);
  Reply reply;
  if (failed != 0 && lua_isstring(lua, -1) != 0) {
    reply = Reply::error("ERR " + text_at(lua, -1));
  } else {
    reply = reply_at(lua, lua_gettop(lua));
  }
  lua_settop(lua, 0);
  return reply;
}

}  // namespace rlock::explore
