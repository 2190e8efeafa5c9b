-- Extends the lease of an owner who still has his permit of a semaphore; never shortens it. Lease 0
-- only asks.
-- KEYS: permits: not more, see renew.lua
-- ARGV: lease (ms), owner, info, lock, 1 for a nested run, which shares the permit: there is nothing
--   to be counted
-- Returns 1 he has it, 0 he has not; to a nested run {1, 1, nothing, 1} or {2}, as reenter.lua.
local permits, owner, info, lock = KEYS[1], ARGV[2], ARGV[3], ARGV[4]
local lease, is_nested = tonumber(ARGV[1]), ARGV[5] == '1'
local channel = ''
--#include now.lua
--#include info.lua
--#include publish.lua
--#include semaphore.lua
local is_set = redis.call('type', permits).ok == 'zset'
if not is_set or not redis.call('zscore', permits, owner) then return is_nested and {2} or 0 end
if lease > 0 then
  redis.call('zrem', permits, '')  -- of nobody: it opens the script for writing without memory
  redis.call('zadd', permits, 'xx', 'gt', now + lease, owner)
  note_seen(owner, lease)
  keep_alive()
end
return is_nested and {1, 1, '', 1} or 1
