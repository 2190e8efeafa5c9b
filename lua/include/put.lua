-- Needs the local info.

-- Sets a field of the side key, which then lasts for so long (ms) at the least. One without an expiry
-- keeps none: it may be somebody else's. What could not end is not written: so the right to set the
-- end is tried before there is a key. Returns nothing, or the server's error.
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
