-- Extends the lease of a reader or of the writer. Shortens a lease only if it is longer than any of the owner's holds
-- has asked for. Never sets an expiry if there is none.
--#key lock  the only one, see renew.lua
--#arg lease ms  0 only asks
--#arg owner text
--#arg info key
--#arg prefix text  the start of the names of the readers' keys
--#arg side read|write
--#include renewing.lua
-- It publishes nothing, but needs the local is_asking:
--#publishes
--#include read_write.lua
local field = side == 'read' and owner or writer
local is_held = holds_of(field)
if not is_held or lease == 0 then
  --#include replica.lua
  return refusal or (is_held and k_renewed or k_not_held)
end
--#include prolong_info.lua

-- This comes first: it works even when the server is out of memory, and lets the script write.
last_for(lease)
local holds, lives = holds_of(owner) or 0, false
-- Returns `left`, or less if that is longer than this side has asked for.
local longest
local function at_most(left)
  if left <= lease then return left end
  if not longest then
    --#include now.lua
    --#include info.lua
    --#include longest.lua
    longest = longest_of(field, lease, holds_of(field))
  end
  return math.min(left, longest)
end
local is_shorter = false
for hold = 1, holds do
  local key = hold_key(owner, hold)
  local left = redis.call('pttl', key)
  local span = math.max(field == owner and at_most(left) or left, lease)
  if left ~= -1 then redis.call('pexpire', key, span) end
  lives = lives or left ~= -2
  is_shorter = is_shorter or span < left
end
if field == owner and not lives then
  -- All keys of this reader are gone, but its field is there. So there was no other writer since: a writer that
  -- takes the lock of dead readers removes their fields. The reader may make its key again. If the
  -- slot is moving to this node, the key may still come, and must not meet a new one.
  if is_asking then return redis.error_reply('TRYAGAIN the key of a hold is missing') end
  redis.call('set', hold_key(owner, holds), '1', 'px', lease)
end

-- The lock lasts as long as its holders. If there are very many readers, the release of one of them looks.
local left = redis.call('pttl', lock)
local ends = left
if field == writer and mode == 'write' then
  ends = math.max(at_most(left), span_of(owner, holds))
elseif is_shorter and mode == 'read' and redis.call('hlen', lock) <= k_most_looked_at then
  ends = span_of_readers()
end
if ends < left then redis.call('pexpire', lock, ends) end
prolong_info(field, lease, ends < left and ends or nil)
return k_renewed
