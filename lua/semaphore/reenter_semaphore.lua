-- Counts one more hold for an owner who has a permit of a semaphore already: they share it, and the
-- last of them gives it back. May be sent again.
--#key lock
--#key latch  of this hold
--#key info
--#key permits
--#arg lease ms
--#arg owner text
--#arg memory ms  how long to remember this request
-- For its replies see include/reentering.lua: nothing is counted where it cannot be noted.
local channel = ''
--#include reentering.lua
--#include now.lua
--#include info.lua
--#include prolong_info.lua
--#include publish.lua
--#include twin.lua
--#include semaphore.lua
-- The holds of a permit whose time is over may be forgotten, although the permit is still there.
if not has_permit(owner) then return {k_not_held} end
local seen, noted = redis.call('get', latch), note_of(owner, hold)
if seen and seen ~= 'entered' or noted == 'ended' or outlived(owner) then return {k_not_held} end

extend(owner, lease)
if not seen and not noted then
  redis.call('set', latch, 'entered', 'xx', 'px', memory)  -- tried, see reenter.lua
  if not note_holds(owner, (count_holds(owner) or 1) + 1) then return {k_entered, 1, '', 1} end
  redis.call('set', latch, 'entered', 'px', memory)
  note(owner, 'entered', hold, lease)
else
  prolong_info(lease)  -- what is noted with the owner lasts as long as the permit
end
keep_alive()
return {k_entered, count_holds(owner) or 1, '', 0}
