-- Takes a reentrant lock for an owner who does not hold it yet; may be sent again.
-- KEYS: lock, info, latch of this hold, queue, and token if one is to be drawn
-- ARGV: lease (ms), owner, what to tell of him (JSON; nothing: he is not to be known), 1 to draw a
--   fencing token or peek to see which would be drawn, see include/restart.lua
-- Returns {1, count, marks, token or nothing, which run of the server} granted; {0, pttl, owner, what
--   is told of him, now, marks} held by that owner (pttl -1: no expiry; no owner among several
--   fields); {2} this hold has ended; {3, type} the name is in use by another kind of lock; {4, why}
--   no token can be drawn; {5, how long the server is up (ms)} too short a time.
--   marks is the sum of 1 where the name is used as a fair lock, too, and 2 where its twin is in
--   use, see include/twin.lua.
local lock, info, token, owner = KEYS[1], KEYS[2], KEYS[#KEYS], ARGV[2]
local lease = tonumber(ARGV[1])
local seen = redis.call('get', KEYS[3])
if seen and seen ~= 'entered' then return {2} end
--#include now.lua
--#include info.lua
--#include kind.lua
--#include twin.lua
--#include taking.lua
--#include fence.lua
--#include restart.lua
local run, up = server_run()
if up then return {5, up} end
local left = redis.call('pttl', lock)
local is_free = left == -2
local kind = not is_free and other_kind()
if kind then return {3, kind} end
if run ~= '' and not seen and note_of(owner, KEYS[3]:match('[^:]+$')) == 'ended' then return {2} end

local mixed, twin = 0, 0
if redis.pcall('exists', KEYS[4], twin_name() or lock) ~= 0 then  -- mostly, there is neither
  mixed, twin = redis.call('exists', KEYS[4]), twin_mark()
end
-- An earlier sending of this request may have taken the lock: then it is not counted again.
local holds = not is_free and redis.call('hexists', lock, owner) == 1
if not is_free and not holds then
  local answer, holders_kind = busy()
  answer[6] = (holders_kind == 'fair' and 1 or mixed) + twin
  return answer
end
extend_lock(left)
local drawn, refusal = fence(owner, holds, ARGV[4])
if refusal then return refusal end
local is_told = drawn or ARGV[3] ~= ''
local count = hold(holds, is_told and about_owner('reentrant', ARGV[4] == '1' and drawn or nil))
if run ~= '' then
  -- Each hold is latched: so each server knows which holds it has counted.
  if holds and not seen then count = redis.call('hincrby', lock, owner, 1) end
  redis.call('set', KEYS[3], 'entered', 'px', 2 * lease)
end
return {1, count, mixed + twin, drawn or '', run}
