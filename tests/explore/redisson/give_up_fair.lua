-- Leaves the queue of a fair lock, as RedissonFairLock does when it has waited for long enough.
-- KEYS: queue, deadlines
-- ARGV: field of the thread, how long it was to wait (ms)
local queue, deadlines, me, wait = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
local is_behind = false
for _, member in ipairs(redis.call('lrange', queue, 0, -1)) do
  if is_behind then redis.call('zincrby', deadlines, -wait, member) end
  is_behind = is_behind or member == me
end
redis.call('zrem', deadlines, me)
redis.call('lrem', queue, 0, me)
