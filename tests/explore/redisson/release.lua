-- Gives one hold of a plain lock back, as RedissonLock of Redisson 4 does.
-- KEYS: lock, channel, latch of this request
-- ARGV: message, lease (ms), field of the thread, PUBLISH or SPUBLISH, how long the latch lasts (ms)
-- Returns 1 if the lock is free now, 0 if the thread has more holds, nothing if it had none.
local lock, channel, latch = KEYS[1], KEYS[2], KEYS[3]
local message, lease, me, publish, latch_span = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local answered = redis.call('get', latch)
if answered then return tonumber(answered) end
if redis.call('hexists', lock, me) == 0 then return nil end
if redis.call('hincrby', lock, me, -1) > 0 then
  redis.call('pexpire', lock, lease)
  redis.call('set', latch, 0, 'px', latch_span)
  return 0
end
redis.call('del', lock)
redis.call(publish, channel, message)
redis.call('set', latch, 1, 'px', latch_span)
return 1
