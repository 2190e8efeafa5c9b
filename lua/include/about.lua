-- What is told of an owner in the side key, without reading what the client says of him: it goes there as
-- it is. Needs the locals about_json and now.

-- Returns what to tell of the owner, who takes a lock of this kind. No text of cjson's begins like it: so
-- one that does has no notes (include/info.lua).
local function about_text(kind)
  local rest = #about_json < 3 and '}' or ',' .. about_json:sub(2)
  return '{ "kind":"' .. kind .. '","since":' .. now .. ',"seen":' .. now .. rest
end
