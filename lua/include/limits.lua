-- The numbers that several scripts use, or a script and C++ (lua_limits.hpp): their names stand for
-- them (cmake/ReadLua.cmake).
local k_longest_name = 1024  --#count  bytes of a lock's name
