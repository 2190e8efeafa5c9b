-- Counts one more hold for an owner who holds the lock already; may be sent again.
-- KEYS: lock, latch of this hold
-- ARGV: lease (ms), owner, how long to remember this request (ms)
-- Returns {1, count} counted; {2} the owner does not hold the lock, or this hold has ended.
local lock, latch, owner = KEYS[1], KEYS[2], ARGV[2]
local lease = tonumber(ARGV[1])
if redis.call('type', lock).ok ~= 'hash' or redis.call('hexists', lock, owner) == 0 then return {2} end

local seen = redis.call('get', latch)
if seen and seen ~= 'entered' then return {2} end
if not seen then
  redis.call('set', latch, 'entered', 'px', ARGV[3])
  redis.call('hincrby', lock, owner, 1)
end
-- Never shorter than what the outer hold counts on.
if redis.call('pttl', lock) < lease then redis.call('pexpire', lock, lease) end
return {1, tonumber(redis.call('hget', lock, owner))}
