-- One step of a search for keys that only remember something about a lock, but have no expiry;
-- called again until its walks have ended; changes nothing. It names no keys: what is found lies in
-- any cluster slot.
--#arg count count  keys that a step goes further, about
--#args walks  a glob pattern and the cursor (at first "0", "" when ended) of each
-- Returns {{cursor of each walk}, {key...}}. A key may come more than once.
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
