-- Extends the lease of a reader or of the writer; never shortens it, nor that of others, nor ends
-- what has no expiry.
--#key lock  not more, see renew.lua
--#arg lease ms  0 only asks
--#arg owner text
--#arg info key
--#arg prefix text  what the names of the readers' keys start with
--#arg side read|write
--#include renewing.lua
-- It publishes nothing, but is told in the same way whether this is a cluster:
--#publishes
--#include read_write.lua
local field = side == 'read' and owner or writer
if not holds_of(field) then
  --#include replica.lua
  return refusal or k_not_held
end
if lease == 0 then return k_renewed end
--#include prolong_info.lua

-- What opens the script for writing comes first: it works also when the server is out of memory.
last_for(lease)
local holds, lives = holds_of(owner) or 0, false
for hold = 1, holds do
  local key = hold_key(owner, hold)
  local left = redis.call('pttl', key)
  if left ~= -1 then redis.call('pexpire', key, math.max(left, lease)) end
  lives = lives or left ~= -2
end
if field == owner and not lives then
  -- As long as the field is there, nobody else can have been the writer: a writer who comes to a
  -- lock of dead readers removes their fields. So a reader whose keys were lost can have one again.
  -- In a cluster it may be on its way to this node, where it must not meet another.
  if is_sharded then return redis.error_reply('TRYAGAIN the key of a hold is missing') end
  redis.call('set', hold_key(owner, holds), '1', 'px', lease)
end

prolong_info(lease)
return k_renewed
