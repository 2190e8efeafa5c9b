-- Needs the local info.

-- Sets a field of the side key, and makes the key last for `span` ms at least. A key without an expiry
-- keeps none: it may be an application's. Tries PEXPIRE before there is a key, so that no key without an
-- expiry is left if the user lacks that right. Returns nothing, or the server's error.
local function put(field, text, span)
  local left = redis.pcall('pttl', info)
  if type(left) == 'table' then return left end
  local is_new = left == -2
  if left ~= -1 and left < span then
    local reply = redis.pcall('pexpire', info, span)
    if type(reply) == 'table' then return reply end
  end
  local reply = redis.pcall('hset', info, field, text)
  if type(reply) == 'table' then return reply end
  if is_new then redis.pcall('pexpire', info, span) end
end
