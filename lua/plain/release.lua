-- Gives one hold back, or the place in the queue, and wakes a waiter where the lock becomes free;
-- may be sent again.
-- KEYS: lock, channel, info, latch of this hold, queue, scores
-- ARGV: owner, how long to remember this request (ms), how long to keep the lock all the same (ms),
--   what the owner added to the deadlines behind him (ms; 0: he cannot be in the queue), the standing
--   of the hold, 0 to tell nobody that the lock is free, and 1 if other processes know of the hold,
--   see include/releasing.lua
-- Returns {1} the lock is free now, {0} the owner still holds it (or keeps it until its TTL ends),
--   {2} the owner did not hold it. The latch remembers the answer, and bars a late acquire.
local lock, channel, info, latch, queue, scores =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local owner, remember, keep, wait = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local standing, is_shared = ARGV[5], ARGV[7] == '1'
local function holding() return {owner} end
--#include now.lua
--#include info.lua
--#include releasing.lua
--#include publish.lua
--#include alone.lua
--#include queue.lua
--#include string_lock.lua

local count = is_string and 1
if kind == 'hash' then count = redis.call('hget', lock, owner) end
if not count then
  forget_holder(owner)
  if wait > 0 then leave(owner, wait) end
  return answer(2)
end

local is_nested = standing == 'nested'
if is_nested or tonumber(count) > 1 then
  -- Setting the expiry to what it is opens the script for writing when the server is out of memory.
  local left = redis.call('pttl', lock)
  if left > 0 then redis.call('pexpire', lock, math.max(left, keep)) end
  if keep > 0 then note_kept(owner, keep) end
  if not is_nested then redis.call('hincrby', lock, owner, -1) end
  return answer(0)
end
keep = math.max(keep, left_to_keep(owner))
if keep > 0 then
  redis.call('pexpire', lock, keep)
  note_outlived(owner, keep)
  if redis.pcall('exists', queue) == 0 then redis.pcall('pexpire', info, keep) end
  return answer(0)
end
if is_string then
  redis.call('del', lock)
  drop_latches(owner, latch)
else
  redis.call('hdel', lock, owner)
end
forget_holder(owner)
if ARGV[6] ~= '0' and redis.call('exists', lock) == 0 then wake() end
return answer(1)
