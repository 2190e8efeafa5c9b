-- Sets the local told: what the side key tells of the owner, who takes the lock now. What the client says of
-- him goes there as it is, without being read. No text of cjson's begins like it: so one that does has no
-- notes (include/info.lua). Needs include/now.lua and the locals about_json and kind (of the lock).
local ms = time[1] .. ('00000' .. time[2]):sub(-6, -4)
local told = '{ "kind":"' .. kind .. '","since":' .. ms .. ',"seen":' .. ms
told = told .. (#about_json < 3 and '}' or ',' .. about_json:sub(2))
