-- Takes a reentrant lock for an owner who does not hold it yet; may be sent again.
-- KEYS: lock, info, latch of this hold, queue
-- ARGV: lease (ms), owner, what to tell of him (JSON; nothing: he is not to be known)
-- Returns {1, count, mixed} granted; {0, pttl, owner, what is told of him, now, mixed} held by that
--   owner (pttl -1: no expiry; no owner among several fields); {2} this hold has ended; {3, type}
--   the name is in use by another kind of lock.
--   mixed is 1 where the name is used as a fair lock, too.
local lock, info, owner = KEYS[1], KEYS[2], ARGV[2]
local lease = tonumber(ARGV[1])
if redis.call('exists', KEYS[3]) == 1 then return {2} end
--#include now.lua
--#include info.lua
--#include kind.lua
--#include taking.lua
local kind = other_kind()
if kind then return {3, kind} end

local mixed = redis.call('exists', KEYS[4])
-- An earlier sending of this request may have taken the lock: then it is not counted again.
if redis.call('exists', lock) == 1 and redis.call('hexists', lock, owner) == 0 then
  local answer, holders_kind = busy()
  answer[6] = holders_kind == 'fair' and 1 or mixed
  return answer
end
return {1, hold(ARGV[3] ~= '' and about_owner('reentrant')), mixed}
