-- Extends the lease of a reader or of the writer. Never shortens any lease, and never sets an expiry if there is
-- none.
--#key lock  the only one, see renew.lua
--#arg lease ms  0 only asks
--#arg owner text
--#arg info key
--#arg prefix text  the start of the names of the readers' keys
--#arg side read|write
--#include renewing.lua
-- It publishes nothing, but needs the local is_sharded:
--#publishes
--#include read_write.lua
local field = side == 'read' and owner or writer
if not holds_of(field) then
  --#include replica.lua
  return refusal or k_not_held
end
if lease == 0 then return k_renewed end
--#include prolong_info.lua

-- This comes first: it works even when the server is out of memory, and lets the script write.
last_for(lease)
local holds, lives = holds_of(owner) or 0, false
for hold = 1, holds do
  local key = hold_key(owner, hold)
  local left = redis.call('pttl', key)
  if left ~= -1 then redis.call('pexpire', key, math.max(left, lease)) end
  lives = lives or left ~= -2
end
if field == owner and not lives then
  -- All keys of this reader are gone, but its field is there. So there was no other writer since: a writer that
  -- takes the lock of dead readers removes their fields. The reader may make its key again. In a cluster, the key
  -- may be moving to this node, where it must not meet a new one.
  if is_sharded then return redis.error_reply('TRYAGAIN the key of a hold is missing') end
  redis.call('set', hold_key(owner, holds), '1', 'px', lease)
end

prolong_info(field, lease)
return k_renewed
