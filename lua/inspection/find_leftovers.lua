-- One step of a search for latches and side keys without an expiry, and for counters of tokens that give no token.
-- Call it again until its walks have ended.
-- Changes nothing. The script declares no keys, because it finds keys in any cluster slot.
--#arg count count  about how many keys a step looks at
--#args walks  a glob and the cursor (at first "0"; "": ended) of each walk
--#parts cursors keys
-- Returns these parts: the cursor of each walk, and the keys found. A key may come more than once.
--#read-only
local most = ('%.0f'):format(k_highest_token)

-- Returns whether the key is a counter of tokens that is no number, or too high. Numbers of the same length compare
-- as texts do.
local function is_bad_counter(key)
  local value = redis.pcall('type', key).ok == 'string' and redis.pcall('get', key)
  if type(value) ~= 'string' then return false end
  return not value:find('^%-?%d+$') or #value > #most or #value == #most and value > most
end

local cursors, found = {}, {}
for i = 1, #walks, 2 do
  local cursor = walks[i + 1]
  if cursor ~= '' then
    local page = redis.call('scan', cursor, 'match', walks[i], 'count', count)
    cursor = page[1] == '0' and '' or page[1]
    for _, key in ipairs(page[2]) do
      local is_counter = key:sub(1, 20) == 'redisson_lock_token:'
      local expected = key:sub(1, 10) == 'rlock_info' and 'hash' or 'string'
      local is_left = redis.pcall('type', key).ok == expected and redis.pcall('pttl', key) == -1
      if is_counter then is_left = is_bad_counter(key) end
      if is_left then
        found[#found + 1] = key
      end
    end
  end
  cursors[#cursors + 1] = cursor
end
return {cursors, found}
