-- A fair lock, as RedissonFairLock takes it, or waits for it.
-- KEYS: lock, queue, deadlines
-- ARGV: lease (ms), field of the thread, how long it may wait (ms), the client's clock (ms)
-- Returns nothing if it is granted, else after how long (ms) to ask again.
local lock, queue, deadlines = KEYS[1], KEYS[2], KEYS[3]
local lease, me, wait, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
while true do  -- drops the waiters at the head whose deadlines have passed
  local first = redis.call('lindex', queue, 0)
  local score = first and redis.call('zscore', deadlines, first)
  if not score or tonumber(score) > now then break end
  redis.call('zrem', deadlines, first)
  redis.call('lpop', queue)
end
local head = redis.call('lindex', queue, 0)
if redis.call('exists', lock) == 0 and (not head or head == me) then
  redis.call('lpop', queue)
  redis.call('zrem', deadlines, me)
  for _, other in ipairs(redis.call('zrange', deadlines, 0, -1)) do
    redis.call('zincrby', deadlines, -wait, other)
  end
  redis.call('hset', lock, me, 1)
  redis.call('pexpire', lock, lease)
  return nil
end
if redis.call('hexists', lock, me) == 1 then
  redis.call('hincrby', lock, me, 1)
  redis.call('pexpire', lock, lease)
  return nil
end
if redis.call('zscore', deadlines, me) then
  return math.max(0, redis.call('pttl', lock))
end
local last = redis.call('lindex', queue, -1)
local last_score = last and last ~= me and redis.call('zscore', deadlines, last)
local ttl = last_score and tonumber(last_score) - now or redis.call('pttl', lock)
if redis.call('zadd', deadlines, ttl + now + wait, me) == 1 then
  redis.call('rpush', queue, me)
end
return ttl
