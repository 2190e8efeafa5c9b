-- A plain lock, as RedissonLock takes and re-enters it.
-- KEYS: lock
-- ARGV: lease (ms), field of the thread
-- Returns nothing if it is granted, else how long (ms) its holder keeps it.
local lock, lease, me = KEYS[1], ARGV[1], ARGV[2]
if redis.call('exists', lock) == 1 and redis.call('hexists', lock, me) == 0 then
  return redis.call('pttl', lock)
end
redis.call('hincrby', lock, me, 1)
redis.call('pexpire', lock, lease)
return nil
