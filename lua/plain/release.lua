-- Releases a hold, or leaves the queue. Wakes a waiter if the lock becomes free. May be sent again.
--#key lock
--#key channel
--#key info
--#key latch  of this hold
--#key queue
--#key scores
--#arg owner text
--#arg memory span  how long to remember this request
--#arg keep span  how long to keep the lock after the release
--#arg wait span  the time that the owner added to the deadlines behind it; 0: it cannot queue
--#arg standing granted|nested|unproven|reentered  of the hold, see include/releasing.lua
--#arg wakes flag  wake the waiters
--#arg is_shared flag  other processes know the hold
--#include publish.lua
-- First the common case: it is the only hold, and there are no notes. Either nobody queues, or the head of the
-- queue is an rlock waiter that listens.
local is_uncontended = standing == 'granted' and keep == '0' and not is_shared and owner:find(':', 1, true)
local found = is_uncontended and redis.pcall('exists', latch, queue)
local head = found == 1 and wakes and wait ~= '0' and redis.pcall('lindex', queue, 0)
if found == 0 or type(head) == 'string' then
  local told = redis.pcall('hmget', info, owner, 'holder', head or owner, 'called')
  local is_uncontended = not told.err and (told[2] or owner) == owner and (not told[1] or told[1]:sub(1, 2) == '{ ')
  local call  -- as call() of include/queue.lua notes it
  if is_uncontended and head then
    --#include now.lua
    call = cjson.encode({owner = head, at = now})
    local heard = redis.pcall('pubsub', 'numsub', channel .. ':' .. head)[2]
    is_uncontended = not told[4] and told[3] and told[3]:find('"due":%d') and heard and heard > 0
  end
  local held = is_uncontended and redis.pcall('hgetall', lock) or {}
  if #held == 2 and held[1] == owner and held[2] == '1' then
    redis.call('hdel', lock, owner)
    if told[1] or told[2] then redis.pcall('hdel', info, owner, told[2] and 'holder' or owner) end
    if wakes then
      if head then
        --#include put.lua
        put('called', call, k_longest_silence)
        publish(channel .. ':' .. head, '0')
      end
      publish(channel, '0')
    end
    redis.pcall('set', latch, 'k_freed', 'px', memory)
    return {k_freed}
  end
end

memory, keep, wait = tonumber(memory), tonumber(keep), tonumber(wait)
local function holding() return {owner} end
--#include now.lua
--#include info.lua
--#include releasing.lua
--#include alone.lua
--#include queue.lua
--#include string_lock.lua

local count = is_string and 1 or count_holds()
if not count then
  forget_holder(owner)
  if wait > 0 then leave(owner, 0) end
  return answer(k_not_held)
end

local is_nested = standing == 'nested'
if is_nested or count > 1 then
  -- Setting the expiry, even to the same time, lets the script write when the server is out of memory.
  local left = redis.call('pttl', lock)
  if left > 0 then redis.call('pexpire', lock, math.max(left, keep)) end
  if keep > 0 then note_kept(owner, keep) end
  if not is_nested then redis.call('hincrby', lock, owner, -1) end
  return answer(k_still_held)
end
keep = math.max(keep, left_to_keep(owner))
if keep > 0 then
  redis.call('pexpire', lock, keep)
  if note_outlived(owner, keep) and redis.pcall('exists', queue) == 0 then redis.pcall('pexpire', info, keep) end
  return answer(k_still_held)
end
if is_string then
  redis.call('del', lock)
else
  redis.call('hdel', lock, owner)
end
forget_holder(owner)
if wakes and redis.call('exists', lock) == 0 then wake() end
return answer(k_freed)
