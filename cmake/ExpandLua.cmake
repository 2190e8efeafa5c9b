# Writes the texts that a server gets of the scripts of a folder like lua/, as FOLDER/NAME.lua:
#   cmake -D LUA=FOLDER -D TO=FOLDER -P cmake/ExpandLua.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/ReadLua.cmake)
rlock_find_lua(${LUA})
foreach(script IN LISTS lua_scripts)
  get_filename_component(name ${script} NAME_WE)
  rlock_read_lua(${script})
  file(WRITE ${TO}/${name}.lua "${text}")
endforeach()
