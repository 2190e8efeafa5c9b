-- Notes the `span` (ms) of a renewal as the lease in the owner's entry `of`, and extends the side key to it. Needs the
-- local info.
local function prolong_info(of, span)
  local told = redis.pcall('hget', info, of)
  local now_told = type(told) == 'string' and told:gsub('"lease":[%w.+]+', '"lease":' .. span, 1) or told
  if now_told ~= told then redis.pcall('hset', info, of, now_told) end
  local left = redis.pcall('pttl', info)
  if type(left) == 'number' and left >= 0 and left < tonumber(span) then redis.pcall('pexpire', info, span) end
end
