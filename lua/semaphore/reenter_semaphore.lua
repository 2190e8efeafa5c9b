-- Counts one more hold for an owner who has a permit of a semaphore already: they share it, and the
-- last of them gives it back. May be sent again.
-- KEYS: lock, latch of this hold, info, permits
-- ARGV: lease (ms), owner, how long to remember this request (ms)
-- Returns {1, count, nothing, 1 if nothing was counted, since it cannot be noted} entered; {2} the
--   owner has no permit, or this hold has ended.
local lock, latch, info, permits, owner = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[2]
local channel = ''
--#include now.lua
--#include info.lua
--#include publish.lua
--#include twin.lua
--#include semaphore.lua
-- The holds of a permit whose time is over may be forgotten, although the permit is still there.
local ends = has_permit(owner)
if not ends or tonumber(ends) <= now then return {2} end
local hold = latch:match('[^:]+$')
local seen, noted = redis.call('get', latch), note_of(owner, hold)
if seen and seen ~= 'entered' or noted == 'ended' then return {2} end

extend(owner, tonumber(ARGV[1]))
if not seen and not noted then
  redis.call('set', latch, 'entered', 'xx', 'px', ARGV[3])  -- tried, see reenter.lua
  if not note_holds(owner, (count_holds(owner) or 1) + 1) then return {1, 1, '', 1} end
  redis.call('set', latch, 'entered', 'px', ARGV[3])
  note(owner, 'entered', hold, tonumber(ARGV[1]))
else
  note_seen(owner, tonumber(ARGV[1]))  -- what is noted with the owner lasts as long as the permit
end
keep_alive()
return {1, count_holds(owner) or 1, '', 0}
