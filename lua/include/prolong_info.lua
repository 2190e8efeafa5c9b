-- Extends the side key to the owner's lease, `span` (ms). Needs the local info.
local function prolong_info(span)
  local left = redis.pcall('pttl', info)
  if type(left) == 'number' and left >= 0 and left < tonumber(span) then redis.pcall('pexpire', info, span) end
end
