-- Takes a string lock (SET NX PX) for an owner who does not hold it yet; may be sent again.
-- KEYS: lock, info, latch of this hold, and token if one is to be drawn
-- ARGV: lease (ms), owner (the value), what to tell of him (JSON, or nothing), 0, 1 or peek as
--   in acquire.lua, see include/restart.lua, 1 if nobody else can have this owner's value,
--   where the permits of a semaphore are (who uses none may have no right to that key)
-- Returns as acquire.lua; of a foreign value that is long, the start.
local lock, info, latch, token, owner = KEYS[1], KEYS[2], KEYS[3], KEYS[#KEYS], ARGV[2]
local lease, is_unique = tonumber(ARGV[1]), ARGV[6] == '1'
local k_longest_shown = 1024
local entered = redis.call('get', latch)
if entered and entered ~= 'entered' then return {2} end
--#include now.lua
--#include info.lua
--#include twin.lua
--#include taking.lua
--#include fence.lua
--#include restart.lua
local run, up = server_run()
if up then return {5, up} end

local value = redis.pcall('get', lock)
if type(value) == 'table' then
  local kind = redis.call('type', lock).ok
  return (kind == 'none' or kind == 'string') and value or {3, kind}
end
-- That of a semaphore is a number. One of which no permit is out, and that is not rlock's, looks like
-- a lock.
if value and value:find('^%-?%d+$') and
   (redis.pcall('exists', ARGV[7]) == 1 or redis.pcall('hexists', info, 'permits') == 1) then
  return {3, 'semaphore'}
end

-- An earlier sending of this request may have taken the lock. A value that others use, too, tells so
-- only together with the latch.
if value and (value ~= owner or not is_unique and not entered) then
  local answer = held_by(value)
  answer[3], answer[6] = value:sub(1, k_longest_shown), twin_mark()
  return answer
end
local drawn, refusal = fence(owner, value, ARGV[4])
if refusal then return refusal end
if not value then
  redis.call('set', lock, owner, 'px', lease)
elseif redis.call('pttl', lock) < lease then
  redis.call('pexpire', lock, lease)
end
-- It ends with the lock, and proves as long as that lasts that it is this hold's.
if not is_unique then redis.call('set', latch, 'entered', 'px', math.max(redis.call('pttl', lock), lease)) end
local noted = ARGV[4] == '1' and drawn or nil
if noted or ARGV[3] ~= '' then tell_of_holder(owner, about_owner('simple', noted), value) end
if not is_unique and not value then note(owner, 'latches', latch:match('[^:]+$'), lease) end
return {1, 1, twin_mark(), drawn or '', run}
