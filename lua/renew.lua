-- Extends the lease of an owner who still holds the lock; never shortens it. Lease 0 only asks.
-- KEYS: lock, info
-- ARGV: lease (ms), owner
-- Returns 1 the lock is the owner's, 0 it is not.
local lock, info, owner = KEYS[1], KEYS[2], ARGV[2]
local lease = tonumber(ARGV[1])
if redis.call('type', lock).ok ~= 'hash' or redis.call('hexists', lock, owner) == 0 then return 0 end
if lease == 0 then return 1 end
--#include now.lua
--#include info.lua

-- PEXPIRE comes first: it works also when the server is out of memory.
local left = redis.call('pttl', lock)
if left < lease then redis.call('pexpire', lock, lease) end

local about = known(owner)
if about then
  about.seen = now
  tell(owner, about, lease)
end
return 1
