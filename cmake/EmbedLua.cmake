# Makes two headers of lua/. lua_scripts.hpp has a namespace for each script NAME, lua::NAME: its
# text and SHA1, which is the name that the server gives it (SCRIPT LOAD), the struct Call of its
# keys and arguments, and a struct for each of its replies. lua_limits.hpp has lua/include/limits.lua.
# Runs at configure time; a changed script reconfigures.
include(${CMAKE_CURRENT_LIST_DIR}/ReadLua.cmake)

function(rlock_embed_lua folder)
  rlock_find_lua(${PROJECT_SOURCE_DIR}/lua)
  set(limits_file ${PROJECT_SOURCE_DIR}/lua/include/limits.lua)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lua_scripts} ${lua_includes} ${limits_file})
  set(head "// Generated from lua/ by cmake/EmbedLua.cmake.\n#pragma once\n\n")
  set(body "${head}#include <array>\n#include <variant>\n\n#include \"redis/script_call.hpp\"\n\nnamespace rlock::lua {\n")
  foreach(include IN LISTS lua_includes)
    get_filename_component(name ${include} NAME_WE)
    file(READ ${include} text)
    rlock_read_lua_replies("\n${text}")
    if(reply_cpp)
      string(APPEND body "namespace ${name} {\n${reply_cpp}}  // namespace ${name}\n")
    endif()
  endforeach()
  set(all "")
  foreach(script IN LISTS lua_scripts)
    get_filename_component(name ${script} NAME_WE)
    list(APPEND all "&${name}::script")
    file(READ ${script} text)
    rlock_read_lua_replies("\n${text}")
    rlock_read_lua(${script})
    string(SHA1 sha1 "${text}")
    string(APPEND body "namespace ${name} {\n"
      "inline constexpr redis::Script script{\"${name}\", \"${sha1}\", R\"LUA(${text})LUA\",\n"
      "    redis::Script::Access::${access}, redis::Script::Voice::${voice}};\n"
      "${call_cpp}${reply_cpp}}  // namespace ${name}\n")
  endforeach()
  list(LENGTH all count)
  list(JOIN all ", " all)
  string(APPEND body "inline constexpr std::array<const redis::Script*, ${count}> k_scripts{${all}};\n"
    "}  // namespace rlock::lua\n")
  file(CONFIGURE OUTPUT ${folder}/lua_scripts.hpp CONTENT "${body}" @ONLY)

  set(body "${head}#include <cstdint>\n\n#include \"base/clock.hpp\"\n\nnamespace rlock::lua {\n")
  foreach(limit IN LISTS lua_limits)
    string(REPLACE " " ";" limit ${limit})
    list(POP_FRONT limit name value type)
    if(type STREQUAL "ms")
      string(APPEND body "inline constexpr Milliseconds ${name}{${value}};\n")
    else()
      string(APPEND body "inline constexpr std::int64_t ${name}{${value}};\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/lua_limits.hpp CONTENT "${body}}  // namespace rlock::lua\n" @ONLY)
endfunction()
