-- Sets the local told: the entry of an owner that takes the lock now. Copies the client's text without
-- decoding it. No text of cjson begins with "{ ", so an entry that does has no notes (include/info.lua).
-- Needs include/now.lua and the locals about_json, kind (of the lock) and lease (ms).
local ms = time[1] .. ('00000' .. time[2]):sub(-6, -4)
local told = '{ "kind":"' .. kind .. '","lease":' .. lease .. ',"since":' .. ms .. ',"seen":' .. ms
told = told .. (#about_json < 3 and '}' or ',' .. about_json:sub(2))
