-- Adds a hold for an owner that already has a permit. The holds share the permit, and the last one releases it. May
-- be sent again.
--#key lock
--#key latch  of this hold
--#key info
--#key permits
--#arg lease ms
--#arg owner text
--#arg memory ms  how long to remember this request
-- For its replies see include/reentering.lua. If the hold count cannot be written, the hold is not counted.
--#include reentering.lua
--#include now.lua
--#include info.lua
--#include prolong_info.lua
--#include semaphore.lua
-- An ended permit may still be in the set after its hold count was lost.
if not has_permit(owner) then
  --#include replica.lua
  return refusal or {k_not_held}
end
local seen, noted = redis.call('get', latch), note_of(owner, hold)
if seen and seen ~= 'entered' or noted == 'ended' or outlived(owner) then return {k_not_held} end

extend(owner, lease)
if not seen and not noted then
  redis.call('set', latch, 'entered', 'xx', 'px', memory)  -- a trial, see reenter.lua
  if not note_holds(owner, (count_holds(owner) or 1) + 1) then return {k_entered, 1, '', 1} end
  redis.call('set', latch, 'entered', 'px', memory)
  note(owner, 'entered', hold, lease)
end
prolong_info(owner, lease)
keep_alive()
return {k_entered, count_holds(owner) or 1, '', 0}
