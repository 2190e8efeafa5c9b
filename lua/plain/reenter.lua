-- Counts one more hold for an owner who holds the lock already; may be sent again. A string counts
-- no holds: the lock stays with the outer one.
-- KEYS: lock, latch of this hold, info; and token if there is to be a token
-- ARGV: lease (ms), owner, how long to remember this request (ms), a mode of include/fence.lua
-- Returns {1, count, token or nothing, 1 if it is a string and nothing was counted} entered; {2} the
--   owner does not hold the lock, or this hold has ended; {4, why} no token can be drawn. The token
--   is that of the outer holds, if they have one.
local lock, latch, info, token, owner = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[2]
local lease = tonumber(ARGV[1])
--#include now.lua
--#include info.lua
--#include fence.lua
--#include string_lock.lua
if not is_string and (kind ~= 'hash' or redis.call('hexists', lock, owner) == 0) then return {2} end
-- A reader's hold is more than a field.
if kind == 'hash' and redis.call('hexists', lock, 'mode') == 1 then return {2} end

local hold = latch:match('[^:]+$')
local seen, noted = redis.call('get', latch), note_of(owner, hold)
if seen and seen ~= 'entered' or noted == 'ended' then return {2} end
local drawn, refusal = fence(owner, true, ARGV[4])
if refusal then return refusal end
local is_new = not is_string and not seen and not noted
-- What may fail comes before the latch says that this hold was counted: otherwise giving it back would
-- give the outer one back. So may SET, and it is tried without effect.
if is_new then redis.call('set', latch, 'entered', 'xx', 'px', ARGV[3]) end
-- Never shorter than what the outer hold counts on, which may have no expiry (-1).
local left = redis.call('pttl', lock)
if left ~= -1 and left < lease then redis.call('pexpire', lock, lease) end
if is_new then
  redis.call('hincrby', lock, owner, 1)
  redis.call('set', latch, 'entered', 'px', ARGV[3])
  note(owner, 'entered', hold, lease)
end
if drawn then
  local about = known(owner) or {}
  about.token = drawn
  tell(owner, about, lease)
end
if is_string then return {1, 1, drawn or '', 1} end
return {1, tonumber(redis.call('hget', lock, owner)), drawn or '', 0}
