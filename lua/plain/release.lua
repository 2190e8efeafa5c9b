-- Gives one hold back, or the place in the queue, and wakes a waiter where the lock becomes free;
-- may be sent again.
--#key lock
--#key channel
--#key info
--#key latch  of this hold
--#key queue
--#key scores
--#arg owner text
--#arg memory ms  how long to remember this request
--#arg keep ms  how long to keep the lock all the same
--#arg wait ms  what the owner added to the deadlines behind it; 0: it cannot be in the queue
--#arg standing granted|nested|unproven|reentered  of the hold, see include/releasing.lua
--#arg wakes flag  those who wait
--#arg is_shared flag  other processes know of the hold
--#include publish.lua
-- Mostly, it is the only hold, nothing is noted, and nobody queues: what only other cases need is left for
-- later.
if standing == 'granted' and keep == 0 and not is_shared and redis.pcall('exists', latch, queue) == 0 then
  local told = redis.pcall('hmget', info, owner, 'holder')
  local has_notes = told.err or told[2] or told[1] and told[1]:sub(1, 2) ~= '{ '
  if not has_notes and redis.pcall('hget', lock, owner) == '1' then
    redis.call('hdel', lock, owner)
    if told[1] then redis.pcall('hdel', info, owner) end
    if wakes and redis.call('exists', lock) == 0 then publish(channel, '0') end
    redis.pcall('set', latch, k_freed, 'px', memory)
    return {k_freed}
  end
end

local function holding() return {owner} end
--#include now.lua
--#include info.lua
--#include releasing.lua
--#include alone.lua
--#include queue.lua
--#include string_lock.lua

local count = is_string and 1
if kind == 'hash' then count = redis.call('hget', lock, owner) end
if not count then
  forget_holder(owner)
  if wait > 0 then leave(owner, wait) end
  return answer(k_not_held)
end

local is_nested = standing == 'nested'
if is_nested or tonumber(count) > 1 then
  -- Setting the expiry to what it is opens the script for writing when the server is out of memory.
  local left = redis.call('pttl', lock)
  if left > 0 then redis.call('pexpire', lock, math.max(left, keep)) end
  if keep > 0 then note_kept(owner, keep) end
  if not is_nested then redis.call('hincrby', lock, owner, -1) end
  return answer(k_still_held)
end
keep = math.max(keep, left_to_keep(owner))
if keep > 0 then
  redis.call('pexpire', lock, keep)
  note_outlived(owner, keep)
  if redis.pcall('exists', queue) == 0 then redis.pcall('pexpire', info, keep) end
  return answer(k_still_held)
end
if is_string then
  redis.call('del', lock)
  drop_latches(owner, latch)
else
  redis.call('hdel', lock, owner)
end
forget_holder(owner)
if wakes and redis.call('exists', lock) == 0 then wake() end
return answer(k_freed)
