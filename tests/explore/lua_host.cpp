#include "explore/lua_host.hpp"

#include <filesystem>
#include <fstream>
#include <lua.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>

#include "explore/codecs.hpp"
#include "lua_scripts.hpp"

namespace rlock::explore {
namespace {

thread_local Store* store = nullptr;
thread_local Refusals refusals;
thread_local bool has_written = false;
thread_local std::string unknown;  // what a script wanted of the model in vain

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
    lua_pushstring(lua, field);
    lua_rawget(lua, index);
    const bool is_there = lua_type(lua, -1) == LUA_TSTRING;
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

// Returns why the server does not run this command, or nothing.
std::optional<Reply> refusal_of(const Words& words) {
  static const std::set<std::string> greedy{"set",     "hset", "hincrby", "rpush",
                                            "linsert", "zadd", "zincrby", "incr"};
  static const std::set<std::string> other{"del",   "pexpire", "persist", "hdel", "zrem",
                                           "ltrim", "lpop",    "rpop",    "lrem"};
  const std::string& command = words.at(0);
  if (command == refusals.lacks)
    return Reply::error("NOPERM this user has no permissions to run the '" + command + "' command");
  const bool may_grow = greedy.count(command) != 0;
  if (refusals.is_out_of_memory && may_grow && !has_written)
    return Reply::error("OOM command not allowed when used memory > 'maxmemory'.");
  has_written = has_written || may_grow || other.count(command) != 0;
  return std::nullopt;
}

// Lua leaves a function that fails by a jump, which passes destructors over: so who owns something
// only pushes the failure.
bool push_answer(lua_State* lua) {
  const int count = lua_gettop(lua);
  Words words;
  for (int i = 1; i <= count && lua_isstring(lua, i) != 0; ++i)
    words.push_back(argument_at(lua, i));
  Reply reply;
  if (words.empty() && count == 0) {
    reply = Reply::error("ERR Please specify at least one argument for this redis lib call");
  } else if (words.size() < static_cast<std::size_t>(count)) {
    reply = Reply::error("ERR Lua redis lib command arguments must be strings or integers");
  } else {
    try {
      const auto refusal = refusal_of(words);
      reply = refusal ? *refusal : store->run(words);
    } catch (const std::logic_error& error) {
      unknown = error.what();
      reply = Reply::error(unknown);
    }
  }
  push(lua, reply);
  return reply.type != Reply::Type::error;
}

int redis_call(lua_State* lua) { return push_answer(lua) ? 1 : lua_error(lua); }
int redis_pcall(lua_State* lua) { return push_answer(lua) || unknown.empty() ? 1 : lua_error(lua); }

int reply_of(lua_State* lua, const char* field) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_field(lua, "err", "ERR wrong number or type of arguments");
    return lua_error(lua);
  }
  lua_createtable(lua, 0, 1);
  lua_insert(lua, 1);
  lua_setfield(lua, 1, field);
  return 1;
}

int error_reply(lua_State* lua) {
  // A dash at the start is that of the protocol.
  if (lua_type(lua, 1) == LUA_TSTRING && *lua_tostring(lua, 1) == '-') {
    lua_pushstring(lua, lua_tostring(lua, 1) + 1);
    lua_replace(lua, 1);
  }
  return reply_of(lua, "err");
}

int status_reply(lua_State* lua) { return reply_of(lua, "ok"); }

// The server's own: an error's text is all that is caught of it.
int protected_call(lua_State* lua) {
  luaL_checkany(lua, 1);
  const int failed = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
  if (failed != 0 && lua_istable(lua, -1)) {
    lua_getfield(lua, -1, "err");
    if (lua_isstring(lua, -1) != 0) {
      lua_replace(lua, -2);
    } else {
      lua_pop(lua, 1);
    }
  }
  lua_pushboolean(lua, failed == 0 ? 1 : 0);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

// Everybody may do everything.
int acl_check_cmd(lua_State* lua) {
  lua_pushboolean(lua, 1);
  return 1;
}

// What nobody has defined is an error.
int refuse_global(lua_State* lua) {
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    lua_tostring(lua, 2));
}

int refuse_new_global(lua_State* lua) {
  return luaL_error(lua, "Attempt to modify a readonly table");
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
  add_library("redis", {{"call", redis_call},
                        {"pcall", redis_pcall},
                        {"error_reply", error_reply},
                        {"status_reply", status_reply},
                        {"acl_check_cmd", acl_check_cmd}});
  add_library("cjson", {{"encode", json_encode}, {"decode", json_decode}});
  add_library("cmsgpack", {{"pack", pack}, {"unpack", unpack}});
  lua_getglobal(lua, "cjson");
  lua_pushlightuserdata(lua, nullptr);
  lua_setfield(lua, -2, "null");
  lua_pop(lua, 1);
  lua_register(lua, "pcall", protected_call);
  for (const char* name : {"KEYS", "ARGV"}) {
    lua_newtable(lua);
    lua_setglobal(lua, name);
  }
  for (const char* name : {"print", "io", "os", "debug", "package", "require", "module", "dofile",
                           "loadfile", "newproxy"}) {
    lua_pushnil(lua);
    lua_setglobal(lua, name);
  }
  lua_newtable(lua);
  lua_pushcfunction(lua, refuse_global);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, refuse_new_global);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, LUA_GLOBALSINDEX);
  if (folder.empty()) {
    for (const redis::Script* script : lua::k_scripts) {
      load(std::string(script->name), std::string(script->text));
    }
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    load(entry.path().stem(), read(entry.path()));
  }
}

void LuaHost::add(const std::string& folder) {
  const std::filesystem::path path(folder);
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() != ".lua") continue;
    load(path.filename().string() + "/" + entry.path().stem().string(), read(entry.path()));
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
  refusals = refusals_;
  has_written = false;
  unknown.clear();
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
  if (!unknown.empty()) throw std::logic_error(unknown);
  return reply;
}

}  // namespace rlock::explore
