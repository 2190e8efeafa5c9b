-- Gives one hold of a fair lock back, as RedissonFairLock of Redisson 4 does.
-- KEYS: lock, queue, deadlines, channel, latch of this request
-- ARGV: message, lease (ms), field of the thread, the client's clock (ms), PUBLISH or SPUBLISH, how
--   long the latch lasts (ms)
-- Returns 1 if the lock is free now (also where nobody had it), 0 if the thread has more holds,
--   nothing if another has it.
local lock, queue, deadlines, channel, latch = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local message, lease, me, now = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local publish, latch_span = ARGV[5], ARGV[6]
local answered = redis.call('get', latch)
if answered then return tonumber(answered) end
while true do  -- drops the waiters at the head whose deadlines have passed
  local first = redis.call('lindex', queue, 0)
  local score = first and redis.call('zscore', deadlines, first)
  if not score or tonumber(score) > now then break end
  redis.call('zrem', deadlines, first)
  redis.call('lpop', queue)
end
local function end_it()
  redis.call('set', latch, 1, 'px', latch_span)
  local head = redis.call('lindex', queue, 0)
  if head then redis.call(publish, channel .. ':' .. head, message) end
  return 1
end
if redis.call('exists', lock) == 0 then return end_it() end
if redis.call('hexists', lock, me) == 0 then return nil end
if redis.call('hincrby', lock, me, -1) > 0 then
  redis.call('pexpire', lock, lease)
  redis.call('set', latch, 0, 'px', latch_span)
  return 0
end
redis.call('del', lock)
return end_it()
