// JSON and MessagePack as the server's libraries for Lua read and write them (lua-cjson 2.1,
// lua-cmsgpack 0.4), with all that they take besides.
#pragma once

struct lua_State;

namespace rlock::explore {

// Functions for Lua: cjson.encode, whose members are in the order of their names, cjson.decode,
// cmsgpack.pack and cmsgpack.unpack.
int json_encode(lua_State* lua);
int json_decode(lua_State* lua);
int pack(lua_State* lua);
int unpack(lua_State* lua);

}  // namespace rlock::explore
