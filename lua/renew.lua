-- Extends the lease of an owner who still holds the lock; never shortens it. Lease 0 only asks.
-- KEYS: lock, info
-- ARGV: lease (ms), owner
-- Returns 1 the lock is the owner's, 0 it is not.
local lock, info, owner = KEYS[1], KEYS[2], ARGV[2]
local lease = tonumber(ARGV[1])
if redis.call('type', lock).ok ~= 'hash' or redis.call('hexists', lock, owner) == 0 then return 0 end
if lease == 0 then return 1 end

-- PEXPIRE comes first: it works also when the server is out of memory.
local left = redis.call('pttl', lock)
if left < lease then redis.call('pexpire', lock, lease) end

local text = redis.pcall('hget', info, owner)
if type(text) == 'string' then
  local ok, known = pcall(cjson.decode, text)
  if ok and type(known) == 'table' then
    local time = redis.call('time')
    known.seen = time[1] * 1000 + math.floor(time[2] / 1000)
    redis.pcall('hset', info, owner, cjson.encode(known))
  end
  local info_left = redis.pcall('pttl', info)
  if type(info_left) == 'number' and info_left < lease then redis.pcall('pexpire', info, lease) end
end
return 1
