-- Prolongs a lock, as Redisson's watchdog does for plain and fair ones.
-- KEYS: lock
-- ARGV: lease (ms), field of the thread
-- Returns 1, or 0 if the thread has the lock no longer.
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('pexpire', KEYS[1], ARGV[1])
return 1
