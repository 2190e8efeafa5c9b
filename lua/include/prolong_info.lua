-- Notes the `span` (ms) of a renewal as the lease in the owner's entry `of`, and as its longest one, if it is. Extends
-- the side key to it. `most` (ms): the time that is left of a lock that the renewal has shortened, or nil. Then shortens
-- the side key, too: to this time, or to what waiters need. Needs the local info.
local function prolong_info(of, span, most)
  span = tonumber(span)
  local told = redis.pcall('hget', info, of)
  local lease = type(told) == 'string' and tonumber(told:match('"lease":([%w.+]+)'))
  if lease and lease ~= span then
    local before = told:match('"longest":([%w.+]+)')
    local longest = ('"longest":%.0f'):format(math.max(span, lease, tonumber(before) or 0))
    local text = ('"lease":%.0f'):format(span)
    if before then told = told:gsub('"longest":[%w.+]+', longest, 1) else text = text .. ',' .. longest end
    redis.pcall('hset', info, of, (told:gsub('"lease":[%w.+]+', text, 1)))
  end
  local left = redis.pcall('pttl', info)
  if type(left) ~= 'number' or left < 0 then return end
  most = most and math.max(most, span, k_longest_silence)
  if left < span or most and left > most then redis.pcall('pexpire', info, most or span) end
end
