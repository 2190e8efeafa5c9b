-- One step of a search for latches and side keys without an expiry. Call it again until its walks have ended.
-- Changes nothing. The script declares no keys, because it finds keys in any cluster slot.
--#arg count count  about how many keys a step looks at
--#args walks  a glob and the cursor (at first "0"; "": ended) of each walk
--#parts cursors keys
-- Returns these parts: the cursor of each walk, and the keys found. A key may come more than once.
--#read-only
local cursors, found = {}, {}
for i = 1, #walks, 2 do
  local cursor = walks[i + 1]
  if cursor ~= '' then
    local page = redis.call('scan', cursor, 'match', walks[i], 'count', count)
    cursor = page[1] == '0' and '' or page[1]
    for _, key in ipairs(page[2]) do
      local expected = key:sub(1, 10) == 'rlock_info' and 'hash' or 'string'
      if redis.pcall('type', key).ok == expected and redis.pcall('pttl', key) == -1 then
        found[#found + 1] = key
      end
    end
  end
  cursors[#cursors + 1] = cursor
end
return {cursors, found}
