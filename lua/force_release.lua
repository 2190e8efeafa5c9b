-- Breaks a lock, whoever holds it, and wakes a waiter; may be sent again.
-- KEYS: lock, channel, info, latch of this request, queue, scores
-- ARGV: how long to remember this request (ms)
-- Returns {1, owner...} broken, with the owners it was taken from; {2} the lock was free;
--   {3, type} the name is in use by another kind of lock.
local lock, channel, info, latch, queue, scores =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
if redis.call('exists', latch) == 1 then return {1} end
--#include now.lua
--#include info.lua
--#include kind.lua
--#include queue.lua

local kind = other_kind()
if kind then return {3, kind} end
if redis.call('exists', lock) == 0 then
  wake()
  return {2}
end

local answer = {1}
for _, owner in ipairs(redis.call('hkeys', lock)) do
  answer[#answer + 1] = owner
  forget_holder(owner)
end
redis.call('del', lock)
wake()
redis.call('set', latch, '1', 'px', ARGV[1])
return answer
