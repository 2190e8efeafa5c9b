-- Adds a hold for an owner that already holds the lock. May be sent again. A string lock counts no holds: it
-- stays with the outer hold.
--#key lock
--#key latch  of this hold
--#key info
--#key token?  if fencing is not off
--#arg lease ms
--#arg owner text
--#arg memory ms  how long to remember this request
--#arg fencing off|draw|noted  see include/fence.lua
-- For its replies see include/reentering.lua.
--#include reentering.lua
--#include now.lua
--#include info.lua
--#include fence.lua
--#include prolong_info.lua
--#include string_lock.lua
if not is_string and not count_holds() then
  --#include replica.lua
  return refusal or {k_not_held}
end
-- A read/write lock has its own script.
if kind == 'hash' and redis.call('hexists', lock, 'mode') == 1 then return {k_not_held} end

local seen, noted = redis.call('get', latch), note_of(owner, hold)
if seen and seen ~= 'entered' or noted == 'ended' or outlived(owner) then return {k_not_held} end
local drawn, refusal = fence(owner, true, fencing)
if refusal then return refusal end
local is_new = not is_string and not seen and not noted
-- Steps that may fail come before the latch notes this hold. Otherwise its release would release the outer hold.
-- SET may fail, too, so try it without effect.
if is_new then redis.call('set', latch, 'entered', 'xx', 'px', memory) end
-- Never shorten the expiry that the outer hold relies on. There may be none (-1).
local left = redis.call('pttl', lock)
if left ~= -1 and left < lease then redis.call('pexpire', lock, lease) end
if is_new then
  redis.call('hincrby', lock, owner, 1)
  redis.call('set', latch, 'entered', 'px', memory)
  note(owner, 'entered', hold, lease)
end
if drawn then
  local about = known(owner) or {}
  about.token = drawn
  tell(owner, about, lease)
end
prolong_info(owner, lease)
if is_string then return {k_entered, 1, drawn or '', 1} end
return {k_entered, tonumber(redis.call('hget', lock, owner)), drawn or '', 0}
