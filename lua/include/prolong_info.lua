-- Needs the local info.
-- What is told of an owner lasts as long (ms) as what he has.
local function prolong_info(span)
  local left = redis.pcall('pttl', info)
  if type(left) == 'number' and left >= 0 and left < tonumber(span) then redis.pcall('pexpire', info, span) end
end
